"""Which servers' events a deployment reads, as flags, variables and files say it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attend.errors import ConfigError
from attend.settings import Settings
from attend.source_setting import SourceSetting

ACTIVITY = {"url": "https://events.example/mcp", "event": "repo.activity", "scope": "repo:acme/shop"}
WHOLE = SourceSetting(
    url="https://events.example/mcp",
    event="repo.activity",
    scope="repo:acme/shop",
    arguments={"repo": "acme/shop", "deep": [1, {"a": None}]},
    mode="poll",
    token="t0ken",
    key="activity",
    poll_ms=5000,
)


def source(**more: Any) -> SourceSetting:
    """The activity's, with something more said."""
    given: dict[str, Any] = {**ACTIVITY, **more}
    return SourceSetting(**given)


def flagged(*sources: Any) -> Settings:
    """What flags say."""
    return Settings.read({"sources": [json.dumps(source) for source in sources]}, {})


def test_a_flag_may_be_repeated_and_a_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "attend.toml"
    file.write_text(
        """
[[source]]
url = "https://events.example/mcp"
event = "repo.activity"
scope = "repo:acme/shop"
arguments = { repo = "acme/shop" }

[[source]]
command = ["ci-events", "--quiet"]
event = "build.done"
scope = "ci"
env = { CI_TOKEN = "x" }
""",
        encoding="utf-8",
    )
    found = Settings.from_file(str(file))
    assert found.sources == (
        source(arguments={"repo": "acme/shop"}),
        SourceSetting(
            command=("ci-events", "--quiet"), event="build.done", scope="ci", env={"CI_TOKEN": "x"}
        ),
    )
    again = flagged(
        {**ACTIVITY, "arguments": {"repo": "acme/shop"}},
        {"command": ["ci-events", "--quiet"], "event": "build.done", "scope": "ci", "env": {"CI_TOKEN": "x"}},
    )
    assert again.sources == found.sources


def test_a_child_gets_the_same_and_nobody_reads_the_token() -> None:
    settings = Settings(sources=(WHOLE, source(event="other")))
    assert Settings.from_env(settings.child_env({})) == settings
    assert "t0ken" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({**ACTIVITY, "urll": "x"}, "'urll' is no key of a source; did you mean url?"),
        ({"event": "e", "scope": "s"}, "give either the url of a server or a command"),
        ({**ACTIVITY, "command": ["x"]}, "give either the url of a server or a command"),
        ({**ACTIVITY, "url": "events.example"}, "url is not a whole one"),
        ({**ACTIVITY, "url": "https://me:pw@events.example/mcp"}, "url holds a name or a password"),
        ({**ACTIVITY, "url": "http://events.example/mcp", "token": "t"}, "would send the token in the clear"),
        ({**ACTIVITY, "mode": "push"}, "$.mode"),
        ({**ACTIVITY, "arguments": []}, "$.arguments"),
        ({**ACTIVITY, "poll_ms": 0}, "poll_ms is 0"),
        ({**ACTIVITY, "scope": ""}, "scope"),
        ({"event": "e"}, "missing required field `scope`"),
        ("x", "Expected `object`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(given: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        flagged(given)
    assert problem in caught.value.problems[0]
    assert caught.value.problems[0].startswith("--source: ")


def test_two_of_one_place_are_refused_and_a_key_keeps_them_apart() -> None:
    with pytest.raises(ConfigError, match="read into scope 'repo:acme/shop' twice"):
        flagged(ACTIVITY, {**ACTIVITY, "url": "https://other.example/mcp"})
    assert len(flagged(ACTIVITY, {**ACTIVITY, "key": "other"}).sources) == 2


def test_text_that_is_no_json_is_answered_with_an_example() -> None:
    with pytest.raises(ConfigError, match="a source is such as"):
        Settings.read({"sources": ["https://events.example/mcp"]}, {})


def test_a_file_with_one_table_is_told_of_the_brackets(tmp_path: Path) -> None:
    file = tmp_path / "attend.toml"
    file.write_text("[source]\nurl = 'x'\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"write \[\[source\]\] above its keys"):
        Settings.from_file(str(file))
