"""What an agent is told."""

from __future__ import annotations

import pytest

from attend.core.notice import default_notice, notice_of
from attend.core.types import Decision, Event, Kind, Reason, Route, Window

EVENTS = (
    Event("1", "build.failed", Kind.CONSEQUENCE, 0, b"{}", "Build 4521 failed: 1 test"),
    Event("2", "user.message", Kind.FLUSH, 0, b'{"x":1}', "can you look?"),
)


def window(*events: Event, dropped: int = 0, gap: bool = False) -> Window:
    return Window("repo", events, Reason.FLUSH, 0, dropped=dropped, gap=gap)


@pytest.mark.parametrize(
    ("route", "last"),
    [
        (Route.INTERRUPT, "Attend to this now, even mid-task."),
        (Route.QUEUE, "Take this up when the current turn ends."),
        (Route.NOTE, "Background only. No reply is needed."),
        (Route.ASK, "Stay quiet. The user is being asked whether to call you in."),
    ],
)
def test_a_notice_is_the_events_texts_and_what_to_do_about_them(route: Route, last: str) -> None:
    assert notice_of(window(*EVENTS), route) == f"Build 4521 failed: 1 test\ncan you look?\n{last}"


def test_an_event_without_text_shows_its_name_and_its_data_as_it_came() -> None:
    events = (
        Event("1", "ci.started", Kind.CLOSING, 0, b'{"run":4521,"big":1.0000000000000000001}'),
        Event("2", "ci.done", Kind.CLOSING, 0),
    )
    lines = notice_of(window(*events), Route.NOTE).splitlines()
    assert lines[:2] == ['ci.started {"run":4521,"big":1.0000000000000000001}', "ci.done"]


def test_an_empty_text_is_a_text() -> None:
    assert (
        notice_of(window(Event("1", "n", Kind.CLOSING, 0, b'{"a":1}', "")), Route.NOTE).splitlines()[0] == ""
    )


def test_the_agents_own_output_is_left_out() -> None:
    own = Event("3", "agent.said", Kind.CONTEXT, 0, b"{}", "I am looking")
    assert "I am looking" not in notice_of(window(*EVENTS, own), Route.QUEUE)


def test_it_says_that_events_were_lost_or_left_out() -> None:
    assert "Some events were lost on their way here." in notice_of(window(*EVENTS, gap=True), Route.NOTE)
    assert "1 earlier event was left out." in notice_of(window(*EVENTS, dropped=1), Route.NOTE)
    assert "3 earlier events were left out." in notice_of(window(*EVENTS, dropped=3), Route.NOTE)
    assert "left out" not in notice_of(window(*EVENTS), Route.NOTE)


def test_the_notice_of_a_decision_is_that_of_its_window_and_route() -> None:
    about = window(*EVENTS)
    decision = Decision(
        id=about.id,
        scope="repo",
        route=Route.ASK,
        reason=Reason.FLUSH,
        decided_at=1,
        notice="cut",
        event_ids=about.event_ids,
        window=about,
    )
    assert default_notice(decision) == notice_of(about, Route.ASK)
