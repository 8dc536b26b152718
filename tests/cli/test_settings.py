"""Settings: every flag has its variable, a flag wins, and all that is wrong is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from attend.cli.flags import REMOTE
from attend.core.rules import Rules
from attend.errors import ConfigError
from attend.option import SOCKET_PATH_BYTES
from attend.options import OPTIONS
from attend.retention import Retention
from attend.settings import Settings, misspelt
from attend.table import SETTLE

SOME = {
    "store": "redis://user:secret@db.example:6380/2?timeout=1",
    "prefix": "team-a",
    "judge": "rule,shop.judges:careful,jev",
    "judge_model": "gpt-6-luna",
    "judge_url": "http://127.0.0.1:8080/v1/systemone",
    "judge_key": "tk-1",
    "judge_context_tokens": "512",
    "judge_below": "0.7",
    "criteria": '{"note":"Good to know."}',
    "guidance": "Be quiet\nat night.",
    "predicates": '{"asked":"Did the user ask?"}',
    "on_judge_down": "rule",
    "window_share": "0.25",
    "kinds": '{"b.*":"closing","a":"flush","a.*":"passive"}',
    "default_kind": "context",
    "host": "0.0.0.0",
    "port": "0",
    "token": "s3cret!~",
    "allow_hosts": "attend.example,other.example:8443",
    "act_threshold": "0.35",
    "settle": "closing_grace_ms=5,retry_backoff_ms=1,2,3,max_waits=0",
    "sink": "https://agent.example/inbox?key=s3cret",
    "sink_secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "dead_letter": "shop.letters:keep",
    "workers": "0",
    "concurrency": "4",
    "audit_rows": "9",
    "ack_after_ms": "300000",
    "ack_times": "1",
    "retain": "10,1000ms",
    "forget_ms": "2000",
    "max_body": "2MiB",
    "max_line": "64 KiB",
    "body_deadline_ms": "10",
    "max_in_flight_bytes": "123",
    "max_in_flight_requests": "5",
    "heartbeat_ms": "7",
    "poll_ms": "8",
    "mcp_errors": "openai",
    "webhooks": "off",
    "webhook_retry_ms": "1000,2000",
    "webhook_timeout_ms": "900",
    "max_subscriptions": "7",
    "shutdown_grace_ms": "0",
}
"""A text other than the default for every setting that can stand beside the others."""

FOR_JEV = {"judge_model", "judge_url", "judge_key", "judge_context_tokens", "judge_below", "criteria"}


def problems(flags: dict[str, str] | None = None, **environ: str) -> list[str]:
    """What is wrong with flags and variables, given by setting name."""
    given = {name: [text] for name, text in (flags or {}).items()}
    with pytest.raises(ConfigError) as caught:
        Settings.read(given, {f"ATTEND_{name.upper()}": text for name, text in environ.items()})
    return list(caught.value.problems)


def test_every_field_is_an_option_and_every_option_a_field() -> None:
    assert [each.name for each in OPTIONS] == list(Settings.__struct_fields__)


@pytest.mark.parametrize("name", [*SOME, "data", "socket"])
def test_each_setting_is_read_from_its_flag_and_from_its_variable_alike(name: str, tmp_path: Path) -> None:
    text = SOME.get(name, str(tmp_path / "s")[-SOCKET_PATH_BYTES:])
    beside = {"host": {"token": ["t"]}, "sink_secret": {"sink": ["https://agent.example/"]}}
    others = beside.get(name, {"judge": ["rule,jev"]} if name in FOR_JEV else {})
    flagged = Settings.read({name: [text], **others}, {})
    variable = next(each.variable for each in OPTIONS if each.name == name)
    named = Settings.read(others, {variable: text})
    assert getattr(flagged, name) == getattr(named, name) != getattr(Settings(), name)


def test_settings_go_to_a_child_and_come_back_the_same() -> None:
    settings = Settings.read({name: [text] for name, text in SOME.items()}, {})
    assert Settings.from_env(settings.to_env()) == settings
    assert list(Settings.from_env(settings.to_env()).kinds) == ["b.*", "a", "a.*"]
    assert Settings().to_env() == {}


def test_a_child_gets_nothing_of_this_process_own_variables() -> None:
    environ = {"ATTEND_PORT": "1", "ATTEND_TOKEN": "old", "PATH": "/bin"}
    assert Settings(port=2).child_env(environ) == {"PATH": "/bin", "ATTEND_PORT": "2"}


def test_a_flag_beats_a_variable_and_an_empty_variable_is_none() -> None:
    settings = Settings.read({"port": ["1"]}, {"ATTEND_PORT": "2", "ATTEND_HOST": ""})
    assert (settings.port, settings.host) == (1, "127.0.0.1")


def test_settle_keys_win_one_by_one_and_may_be_repeated() -> None:
    flags = {"settle": ["max_waits=1", "closing_grace_ms=7"]}
    settings = Settings.read(flags, {"ATTEND_SETTLE": '{"max_waits": 9, "retry_backoff_ms": [5]}'})
    assert settings.rules == Rules(max_waits=1, closing_grace_ms=7, retry_backoff_ms=(5,))


def test_every_number_of_the_rules_can_be_settled() -> None:
    assert set(SETTLE) | {"act_threshold", "sink", "dead_letter", "on_judge_down", "signals"} == set(
        Rules.__struct_fields__
    )


def test_rules_know_whether_anybody_takes_decisions_and_dead_letters() -> None:
    rules = Settings.read({"sink": ["log"], "act_threshold": ["1"]}, {}).rules
    assert (rules.sink, rules.dead_letter, rules.act_threshold) == (True, False, 1.0)


def test_everything_wrong_is_said_at_once_each_with_its_place() -> None:
    found = problems(
        {
            "port": "99999",
            "workers": "-1",
            "kinds": '{"a":"flus","b":3,"b":"flush"}',
            "store": "mysql://me:pw@h",
        },
        judge="nothing",
        settle="closing_grace=5,max_waits=x",
    )
    assert [line.split(":")[0] for line in found] == [
        *["--store", "ATTEND_JUDGE", "--kinds", "--kinds", "--port"],
        *["ATTEND_SETTLE", "ATTEND_SETTLE", "--workers"],
    ]
    assert "'a'" in found[3]
    assert "closing, flush" in found[3]
    assert "did you mean closing_grace_ms?" in found[5]
    assert "pw" not in found[0]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"host": "0.0.0.0"}, "there is no token"),
        ({"socket": "/tmp/s", "port": "8787"}, "takes the place of host and port"),
        ({"socket": "/tmp/s", "host": "127.0.0.1"}, "takes the place of host and port"),
        ({"socket": "/tmp/" + "x" * 120}, "longer than the"),
        ({"socket": "/nowhere/at/all"}, "does not exist"),
        ({"store": "memory", "data": "/tmp/d"}, "bundled server"),
        ({"store": "redis://h/one"}, "database number"),
        ({"store": "redis://h:port"}, "not a URL"),
        ({"store": "unix://"}, "no path"),
        ({"store": "localhost:6379"}, "neither `memory` nor"),
        ({"settle": "max_events=501"}, "seen_count (500) is below max_events (501)"),
        ({"settle": "max_events=0"}, "must be 1 or more"),
        ({"settle": "max_waits"}, "not key=value"),
        ({"settle": '{"max_waits": true}'}, "must be a whole number"),
        ({"act_threshold": "0"}, "above 0"),
        ({"act_threshold": "nan"}, "above 0"),
        ({"act_threshold": "half"}, "not a number"),
        ({"token": ""}, "leave it out"),
        ({"token": "schlüssel"}, "printable ASCII"),
        ({"token": "two words"}, "printable ASCII"),
        ({"prefix": "a{b}"}, "letters, digits"),
        ({"max_line": "33MiB"}, "cannot be longer than a body"),
        ({"max_body": "1e6"}, "not a size"),
        ({"default_kind": "loud"}, "is no kind"),
        ({"kinds": "[]"}, "not an object"),
        ({"kinds": "kinds.jsn"}, "No such file"),
        ({"kinds": "{"}, "not JSON"),
        ({"kinds": '{"":"flush"}'}, "a name is empty"),
        ({"allow_hosts": "http://x"}, "not the name of a host"),
        ({"judge": "rule.judge"}, "`module:name`"),
        ({"judge": "jev,"}, "'' is neither"),
        ({"judge": "jev,my:judge,llm", "judge_model": "m"}, "jev and llm would share one model"),
        ({"judge": "decisions"}, "--judge: decisions needs a model: give --judge-model"),
        ({"judge_model": "m"}, "--judge-model: the judge rule takes none"),
        ({"judge": "my:judge", "criteria": '{"note":"x"}'}, "--criteria: the judge my:judge takes none"),
        ({"judge": "jev", "judge_below": "0.5"}, "it is for several judges"),
        ({"judge": "jev", "judge_url": "http://judge.example/v1"}, "in the clear; use https"),
        ({"judge": "jev", "judge_url": "https://me:pw@judge.example/v1"}, "holds a name or a password"),
        ({"judge": "jev", "judge_url": "api.typesafe.ai"}, "is not a whole URL"),
        ({"judge": "jev", "judge_url": "https://[::1"}, "not a URL"),
        ({"judge": "jev", "judge_context_tokens": "0"}, "not a whole number 1 or more"),
        ({"judge": "jev", "judge_key": "two words"}, "printable ASCII"),
        ({"judge": "jev", "criteria": '{"interupt":"x"}'}, "did you mean interrupt?"),
        ({"judge": "jev", "criteria": '{"note":""}'}, "it must be a text"),
        ({"predicates": '{"asked":true}'}, "'asked' has true, it must be a text"),
        ({"predicates": "questions.json"}, 'JSON such as {"asked"'),
        ({"guidance": " "}, "is empty"),
        ({"on_judge_down": "queue"}, "is not `dead-letter` or `rule`"),
        ({"window_share": "1.5"}, "above 0 and at most 1"),
        ({"data": " "}, "is empty"),
    ],
)
def test_what_cannot_work_is_refused(flags: dict[str, str], words: str) -> None:
    found = problems(flags)
    assert len(found) == 1
    assert words in found[0]


def test_an_empty_token_variable_is_an_error_and_not_an_open_door() -> None:
    assert problems(token="") == ["ATTEND_TOKEN: is empty; leave it out to go without a token"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_loopback_needs_no_token(host: str) -> None:
    assert Settings.read({"host": [host]}, {}).host == host


def test_kinds_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kinds.json"
    file.write_text('\ufeff{"user.said": "flush"}', encoding="utf-8")
    assert Settings.read({"kinds": [str(file)]}, {}).kinds == {"user.said": "flush"}
    file.write_bytes(b"\xff")
    assert problems({"kinds": str(file)}) == [
        f'--kinds: {file}: it is not UTF-8; give a file that can be read, or JSON such as {{"user.said":"flush"}}'
    ]


def test_only_the_settings_of_the_command_are_read() -> None:
    assert Settings.read({}, {"ATTEND_PORT": "x", "ATTEND_PREFIX": "p"}, {"prefix"}).prefix == "p"


def test_a_variable_may_say_more_than_the_judge_takes_so_that_a_flag_can_try_another() -> None:
    settings = Settings.read({"judge": ["rule"]}, {"ATTEND_JUDGE": "jev", "ATTEND_JUDGE_MODEL": "jev-1.13.0"})
    assert Settings.from_env(settings.to_env()) == settings
    assert Settings.read({}, {"ATTEND_JUDGE": "rule, jev"}).judge == "rule,jev"


def test_an_empty_key_is_no_key() -> None:
    assert Settings.read({}, {"ATTEND_JUDGE_KEY": ""}).judge_key is None


def test_secrets_are_not_shown() -> None:
    shown = repr(Settings(token="s3cret", judge_key="tk-9f", store="redis://me:passw0rd@h/0"))
    assert "s3cret" not in shown
    assert "tk-9f" not in shown
    assert "passw0rd" not in shown


def test_a_slip_in_a_variable_is_told() -> None:
    assert misspelt({"ATTEND_TOKNE": "x", "ATTEND_TEST_REDIS_URL": "x", "HOME": "/"}) == [
        "ATTEND_TOKNE: there is no such setting; did you mean ATTEND_TOKEN?"
    ]
    assert misspelt({each.variable: "x" for each in REMOTE}, {each.variable for each in REMOTE}) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("10", Retention(rows=10)),
        ("12h", Retention(ms=43_200_000)),
        ("500, 7d", Retention(500, 604_800_000)),
        ("1500ms,3", Retention(3, 1500)),
    ],
)
def test_what_the_log_keeps_is_a_number_an_age_or_both(text: str, kept: Retention) -> None:
    settings = Settings.read({"retain": [text]}, {})
    assert settings.retain == kept
    assert Settings.from_env(settings.to_env()) == settings


@pytest.mark.parametrize("text", ["", "0", "30 days", "-1", "10,,5d"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"--retain: .* neither a number of decisions nor an age such as 12h"
    ):
        Settings.read({"retain": [text]}, {})
