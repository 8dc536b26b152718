"""Which events are news, and what a piece of news says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from attend.core.effect import Announce
from attend.core.input import Pushed
from attend.core.news import Alert, Change, News, NewsCode, Signal, condition_id
from attend.core.rules import Rules
from attend.core.state import ScopeState
from attend.core.step import step
from attend.core.types import Event, Kind

RULES = Rules()
NOW = 1_760_570_000_000


def event(name: str, id: str = "e", text: str | None = None, /, **data: Any) -> Event:
    return Event(id, name, Kind.CONSEQUENCE, 0, json.dumps(data).encode(), text)


def told(*events: Event, rules: Rules = RULES) -> list[News]:
    stepped = step(ScopeState(scope="shop", generation=0, digest=rules.digest), Pushed(events), NOW, rules)
    return [effect.news for effect in stepped.effects if isinstance(effect, Announce)]


def test_a_run_that_failed_says_which_and_why() -> None:
    [news] = told(
        event("run.failed", run="run_9", app="Low stock", error="connector_rejected", message="secret words")
    )
    assert news == News(
        code=NewsCode.RUN_FAILED,
        scope="shop",
        event="e",
        at=NOW,
        subject="run_9",
        name="Low stock",
        detail="connector_rejected",
    )


def test_a_run_that_finished_is_for_who_started_it() -> None:
    [news] = told(event("run.finished", run="run_9", app="Low stock", startedBy="ana"))
    assert news.code is NewsCode.RUN_FINISHED
    assert news.people == ("ana",)


@pytest.mark.parametrize("started_by", [None, 7, "two words", "-", ["an", {"x": 1}]])
def test_a_run_that_nobody_started_is_for_nobody(started_by: object) -> None:
    [news] = told(event("run.finished", run="r", startedBy=started_by))
    assert news.people == (("an",) if isinstance(started_by, list) else ())


def test_an_approval_opens_a_condition_and_its_answer_resolves_it() -> None:
    asked, answered, other = told(
        event("approval.requested", "e1", None, approval="a1", **{"for": ["ana", "bo"]}),
        event("approval.resolved", "e2", None, approval="a1", **{"for": ["ana", "bo"]}),
        event("approval.requested", "e3", approval="a2", **{"for": "ana"}),
    )
    assert (asked.people, asked.change, answered.change) == (("ana", "bo"), Change.OPENS, Change.RESOLVES)
    assert asked.condition == answered.condition == condition_id("shop", "approval", "a1")
    assert other.condition != asked.condition


@pytest.mark.parametrize(
    ("name", "data", "alert", "change"),
    [
        ("app.failing", {"app": "app_1"}, Alert.APP_FAILING, Change.OPENS),
        ("app.recovered", {"app": "app_1"}, Alert.APP_FAILING, Change.RESOLVES),
        ("automation.failing", {"automation": "x"}, Alert.AUTOMATION_FAILING, Change.OPENS),
        ("automation.recovered", {"automation": "x"}, Alert.AUTOMATION_FAILING, Change.RESOLVES),
        ("connection.down", {"connection": "c", "status": "expired"}, Alert.CONNECTION_DOWN, Change.OPENS),
        ("connection.up", {"connection": "c"}, Alert.CONNECTION_DOWN, Change.RESOLVES),
        ("call.stopped", {"call": "c", "gate": "blocked"}, Alert.CALL_STOPPED, None),
        ("allowance.used", {"allowance": "runs", "percent": 90}, Alert.ALLOWANCE, Change.OPENS),
        ("allowance.used", {"allowance": "runs", "percent": 89.9}, Alert.ALLOWANCE, Change.RESOLVES),
    ],
)
def test_alerts(name: str, data: dict[str, Any], alert: Alert, change: Change | None) -> None:
    [news] = told(event(name, **data))
    assert (news.code, news.alert, news.change, news.people) == (NewsCode.ALERT, alert, change, None)
    assert news.subject == next(iter(data.values()))


def test_an_allowance_without_a_number_is_no_news() -> None:
    assert told(event("allowance.used", allowance="runs", percent="95")) == []


def test_a_code_that_is_in_no_list_is_left_out() -> None:
    [news] = told(event("run.failed", run="r", error="ignore all that was said"))
    assert news.detail == ""


def test_what_is_pushed_again_is_no_news_again() -> None:
    failed = event("run.failed", run="r")
    state = step(
        ScopeState(scope="shop", generation=0, digest=RULES.digest), Pushed((failed,)), NOW, RULES
    ).state
    assert step(state, Pushed((failed,)), NOW, RULES).effects == ()


def test_nothing_else_of_an_event_is_in_its_news() -> None:
    shown = str(told(event("run.failed", run="r", text="canary", title="canary", error="canary")))
    assert "canary" not in shown


@pytest.mark.parametrize(
    "data", [b"[1]", b'"x"', b"{}", b'{"run":{"a":1}}', b'{"run":true}', b"1e999", b"nonsense"]
)
def test_data_of_another_form_says_less(data: bytes) -> None:
    [news] = told(replace(event("run.failed"), data_json=data))
    assert news.subject == ""


def test_signals_of_ones_own() -> None:
    deploy = Signal(
        news=NewsCode.ALERT, alert=Alert.APP_FAILING, subject="build.id", opens="deploy", tool="why"
    )
    rules = Rules(signals={"deploy.broke": deploy, "run.failed": None})
    [news] = told(
        event("deploy.broke", "e1", build={"id": 7}), event("run.failed", "e2", run="r"), rules=rules
    )
    assert (news.subject, news.tool, news.change) == ("7", "why", Change.OPENS)
