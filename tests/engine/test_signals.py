"""Signals as a configuration gives them."""

from __future__ import annotations

from typing import Any

import pytest

from attend import Attend, ConfigError
from attend.core.news import NewsCode
from attend.core.signals import DEFAULT_SIGNALS
from attend.settings import Settings
from attend.signal_table import made, signals


def test_what_is_not_given_stays_as_it_is_by_default() -> None:
    given = {"run.failed": {"name": "title"}, "run.finished": {"news": "none"}}
    found = made(given)
    assert found["run.finished"] is None
    changed, default = found["run.failed"], DEFAULT_SIGNALS["run.failed"]
    assert changed is not None
    assert (changed.name, changed.code, changed.codes) == ("title", default.code, default.codes)


def test_an_event_of_ones_own() -> None:
    found = made({"deploy.broke": {"news": "run_failed", "subject": "build.id", "for": "owner"}})[
        "deploy.broke"
    ]
    assert found is not None
    assert (found.news, found.subject, found.people) == (NewsCode.RUN_FAILED, "build.id", "owner")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"news": "run_broke"}, "news 'run_broke'; it is one of"),
        ({}, "has no news; it is one of"),
        ({"news": "alert"}, "is an alert; give alert, one of app_failing"),
        ({"news": "run_failed", "alert": "allowance"}, "only news = 'alert' has one"),
        ({"news": "run_failed", "subjekt": "x"}, "has no key subjekt; did you mean subject?"),
        ({"news": "run_failed", "for": 3}, "Expected `str | null`, got `int` - at `for`"),
        ({"news": "run_failed", "opens": "a", "resolves": "b"}, "opens and resolves at once"),
        ({"news": "run_failed", "codes": ["Stop now"]}, "the code 'Stop now'; it must be small letters"),
        ({"news": "run_failed", "tool": "a tool"}, "'a tool', which is no name of one"),
        ("run_failed", "is no table"),
    ],
)
def test_what_is_wrong_is_said(given: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Attend(signals={"x": given})
    assert problem in str(raised.value)


def test_settings_carry_them_to_every_process() -> None:
    text = '{"deploy.broke":{"news":"alert","alert":"app_failing","codes":["a"],"at_least":80.5}}'
    settings = Settings.read({"signals": [text]}, {})
    assert Settings.from_env(settings.to_env()) == settings
    assert settings.rules.signals["deploy.broke"] is not None
    assert settings.rules.digest != Settings().rules.digest


def test_a_problem_in_a_text_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="'x' has no news"):
        signals(['{"x":{}}'])
