"""`attend.toml`: every setting has its place in it, and everything wrong with it is said at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attend.config_file import SINK
from attend.config_schema import schema
from attend.core.rules import Rules
from attend.core.types import Kind
from attend.errors import ConfigError
from attend.options import OPTIONS
from attend.settings import Settings

ROOT = Path(__file__).parents[2]
WHOLE = """
[serve]
store = "redis://localhost:6379/1"
port = 0
allow_hosts = ["a.example", "b.example:8443"]
act_threshold = 0.4
max_body = "2MiB"
max_line = 65536
on_judge_down = "rule"
window_share = 1
sink = "log"

[settle]
closing_grace_ms = 5
retry_backoff_ms = [1, 2]

[kinds]
"user.said" = "flush"
"build.*" = "closing"
note = "context"

[judge]
name = "jev"
model = "jev-1.13.0"
url = "http://127.0.0.1:9/v1/systemone"
key = "tk-1"
context_tokens = 512
guidance = '''
Be quiet
at night.'''

[judge.criteria]
note = "Good to know."

[judge.predicates]
asked = "Did the user ask the agent for this?"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the configuration goes."""
    return tmp_path / "attend.toml"


def settings(file: Path, text: str, flags: dict[str, str] | None = None, **environ: str) -> Settings:
    """What a file says, with flags and variables by setting name over it."""
    file.write_text(text, encoding="utf-8")
    given = {name: [value] for name, value in {"config": str(file), **(flags or {})}.items()}
    return Settings.read(given, {f"ATTEND_{name.upper()}": value for name, value in environ.items()})


def problems(file: Path, text: str, flags: dict[str, str] | None = None, **environ: str) -> list[str]:
    """What is wrong, with the file's folder left out."""
    with pytest.raises(ConfigError) as caught:
        settings(file, text, flags, **environ)
    return [line.removeprefix(f"{file.parent}/") for line in caught.value.problems]


def test_a_file_holds_every_kind_of_setting(file: Path) -> None:
    found = settings(file, WHOLE)
    assert found == Settings(
        store="redis://localhost:6379/1",
        port=0,
        allow_hosts=("a.example", "b.example:8443"),
        act_threshold=0.4,
        max_body=2 * 1024 * 1024,
        max_line=65_536,
        on_judge_down="rule",
        window_share=1.0,
        sink="log",
        settle={"closing_grace_ms": 5, "retry_backoff_ms": [1, 2]},
        kinds={"user.said": "flush", "build.*": "closing", "note": "context"},
        judge="jev",
        judge_model="jev-1.13.0",
        judge_url="http://127.0.0.1:9/v1/systemone",
        judge_key="tk-1",
        judge_context_tokens=512,
        guidance="Be quiet\nat night.",
        criteria={"note": "Good to know."},
        predicates={"asked": "Did the user ask the agent for this?"},
    )
    assert list(found.kinds) == ["user.said", "build.*", "note"]
    assert Settings.from_file(str(file)) == Settings.from_env({"ATTEND_CONFIG": str(file)}) == found


def test_a_child_gets_what_the_file_said_and_not_the_file(file: Path) -> None:
    found = settings(file, WHOLE)
    child = found.child_env({"ATTEND_CONFIG": str(file), "PATH": "/bin"})
    assert "ATTEND_CONFIG" not in child
    assert Settings.from_env(child) == found


def test_a_flag_beats_a_variable_and_a_variable_the_file(file: Path) -> None:
    text = "[serve]\nport = 1\nprefix = 'file'\nworkers = 3\n[kinds]\na = 'flush'\n[settle]\nmax_waits = 1\nmax_events = 9\n"
    found = settings(
        file,
        text,
        {"port": "2", "settle": "max_waits=5"},
        port="4",
        prefix="variable",
        settle="seen_count=600",
    )
    assert (found.port, found.prefix, found.workers, found.kinds) == (2, "variable", 3, {"a": "flush"})
    assert found.rules == Rules(max_waits=5, max_events=9, seen_count=600)


def test_the_flag_names_the_file_before_the_variable(file: Path) -> None:
    assert settings(file, "[serve]\nport = 1\n", config="/nowhere.toml").port == 1


def test_everything_wrong_is_said_at_once_each_with_its_place(file: Path) -> None:
    text = """
prefix = "p"
[serve]
port = "8787"
workers = -1
token = 12345
workrs = 2
judge = "jev"
closing_grace_ms = 5
[settle]
max_wait = 3
[kinds]
user.said = "flush"
b = "flus"
[judge]
name = "jev"
url = "http://judge.example/"
on_judge_down = "rule"
[judge.criteria]
notes = "x"
[jugde]
[[principal]]
name = "pager"
[signals."run.failed"]
news = "run_broke"
"""
    assert problems(file, text, {"heartbeat_ms": "0"}) == [
        "attend.toml: prefix: it stands in no table; it goes in [serve]",
        "attend.toml: [serve] port: is a text, it must be a whole number",
        "attend.toml: [serve] token: is a whole number, it must be a text in quotes",
        "attend.toml: [serve] workrs: there is no such key; did you mean workers?",
        "attend.toml: [serve] judge: it goes in [judge] as name",
        "attend.toml: [serve] closing_grace_ms: it goes in [settle]",
        "attend.toml: [judge] on_judge_down: it goes in [serve]",
        "attend.toml: [jugde]: there is no such table; did you mean judge?",
        "attend.toml: [judge] url: http://judge.example would send what happened and the key in the clear; use https",
        "attend.toml: [judge] criteria: 'notes' is no route; did you mean note?",
        "attend.toml: [kinds]: 'user' is a table; a name with dots in it is written in quotes",
        "attend.toml: [kinds]: 'b' has \"flus\", which is no kind; the kinds are " + ", ".join(Kind),
        (
            "attend.toml: [signals]: 'run.failed' has news 'run_broke'; it is one of run_finished, run_failed, "
            "approval_needed, alert, none"
        ),
        "attend.toml: [[principal]] pager: rights: it must be a list of some of ingest, read, admin",
        'attend.toml: [[principal]] pager: scopes: it must be a list of prefixes such as "ops/"; "" is every scope',
        "attend.toml: [[principal]] pager: hash: it must be sha256: and 64 digits, as attend token new prints them",
        "attend.toml: [settle]: 'max_wait' is no settle key; did you mean max_waits?",
        "attend.toml: [serve] workers: '-1' is not a whole number 0 or more",
        "--heartbeat-ms: '0' is not a whole number 1 or more",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[serve]\nport 1\n",
            "it is not TOML: Expected '=' after a key in a key/value pair (at line 2, column 6)",
        ),
        ("serve = 1\n", "serve: is a whole number, it must be a table: write [serve] above its keys"),
        ("[serve]\nmax_body = true\n", "is true or false, it must be a whole number or a text in quotes"),
        ("[serve]\nallow_hosts = 'a'\n", "is a text, it must be a list of texts"),
        ("[serve]\nallow_hosts = [1]\n", "is a list, it must be a list of texts"),
        ("[serve]\nport = 2020-01-01\n", "is a date or time"),
        ("[serve]\nallow_host = ['a']\n", "did you mean allow_hosts?"),
        ("[serve]\nxyz = 1\n", "there is no such key; the keys are store, data"),
        ("[sink]\nurl = 'log'\n", "write [[sink]] above its keys"),
        ("[[sink]]\nname = 'log'\n[[sink]]\nname = 'log'\n", "there are 2 of them"),
        ("[[sink]]\nname = 'log'\n[serve]\nsink = 'log'\n", "[[sink]] name says it already"),
        ("[serve]\nhost = '0.0.0.0'\n", "[serve] host: 0.0.0.0 can be reached from other machines"),
        ("[judge]\nname = 'llm'\n", "[judge] name: llm needs a model"),
        ("[judge.predicates]\nasked = 1\n", "'asked' has 1, it must be a text"),
        ("[serve]\nact_threshold = nan\n", "'nan' is not a number above 0"),
    ],
)
def test_what_cannot_be_is_refused(file: Path, text: str, words: str) -> None:
    found = problems(file, text)
    assert len(found) == 1, found
    assert found[0].startswith("attend.toml: ")
    assert words in found[0]


def test_a_file_that_cannot_be_read_is_said_so(file: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Settings.from_file(str(file))
    file.write_bytes(b"[serve]\nprefix = '\xff'\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        Settings.from_file(str(file))


def test_a_mark_at_its_start_is_no_trouble(file: Path) -> None:
    assert settings(file, "\ufeff[serve]\nport = 1\n").port == 1


def test_a_file_is_checked_whole_also_where_something_wins_or_another_command_reads_it(file: Path) -> None:
    file.write_text("[serve]\nport = 99999\nworkers = 0\n", encoding="utf-8")
    for flags, names in (({"port": ["1"]}, None), ({}, {"prefix"})):
        with pytest.raises(ConfigError, match=r"\[serve\] port: '99999'"):
            Settings.read({**flags, "config": [str(file)]}, {}, names)
    file.write_text("[serve]\nport = 1\n", encoding="utf-8")
    assert Settings.read({"config": [str(file)]}, {}, {"prefix"}) == Settings()


def test_every_setting_has_one_place_in_the_schema_and_the_schema_is_written_down() -> None:
    found = schema()
    described = json.dumps(found)
    for each in OPTIONS:
        places = 1 + list(SINK.values()).count(each.name)
        assert described.count(f"{each.flag}, {each.variable}.") == places, each.name
    written = ROOT / "docs" / "attend.schema.json"
    assert json.loads(written.read_text(encoding="utf-8")) == found, (
        "write it anew: python -m attend.config_schema > docs/attend.schema.json"
    )


def test_the_file_in_the_documents_can_be_used(file: Path) -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    found = settings(file, text.split("```toml\n")[1].split("```")[0])
    assert (found.judge_model, found.kinds["build.*"], found.sink) == ("jev-1.14.0", "closing", "log")
