"""What is said of a scope: every deadline, and why it has not settled."""

from __future__ import annotations

import msgspec
import pytest

from attend.core.due import due_at
from attend.core.report import LISTED, TEXT, Report, Trying, report
from attend.core.state import ScopeState
from attend.core.types import Reason, Route, window_id
from attend.core.why import Status
from tests.core.stories import (
    DELIVER,
    RULES,
    SETTLE,
    Line,
    delivered,
    event,
    failed,
    fresh,
    judged,
    lost,
    push,
    tell,
    with_rules,
)


def told(at: int, *lines: Line) -> Report:
    """The report at an instant, after a story."""
    return report(tell(*lines).state, RULES, at)


ASKED: list[Line] = [(0, push("closing:a log:b")), (500, SETTLE)]

STATUSES: list[tuple[int, list[Line], Status, str]] = [
    (0, [], Status.EMPTY, "nothing is open"),
    (0, [(0, push("log:a own:b"))], Status.NO_ACT, "2 events open and none an act"),
    (1, [(0, push("closing:a"))], Status.OPEN, "no closing event has come for 500 ms"),
    (1, [(0, push("continuous:a"))], Status.OPEN, "no continuous event has come for 1000 ms"),
    (1, [(0, push("passive:a"))], Status.OPEN, "no passive event has come for 4000 ms"),
    (500, [(0, push("closing:a"))], Status.DUE, "due (closing) and waits for a worker"),
    (0, [(0, push("flush:a"))], Status.DUE, "due (flush)"),
    (501, ASKED, Status.JUDGING, "asked about 2 events, start 1"),
    (30_500, ASKED, Status.DUE, "the worker that asked the judge is gone"),
    (502, [*ASKED, (501, failed("no"))], Status.RETRYING, "calls so far: 1 failed"),
    (1501, [*ASKED, (501, failed("no"))], Status.DUE, "2 events wait for a worker"),
    (501, [*ASKED, (500, lost())], Status.RETRYING, "calls so far: 1 lost"),
    (502, [*ASKED, (501, judged("wait"))], Status.HELD, "the judge said to wait"),
    (10_501, [*ASKED, (501, judged("wait"))], Status.DUE, "due (horizon)"),
]


@pytest.mark.parametrize(("at", "lines", "status", "words"), STATUSES)
def test_it_says_why_nothing_has_settled(at: int, lines: list[Line], status: Status, words: str) -> None:
    found = told(at, *lines)
    assert found.status is status
    assert words in found.why


def test_every_deadline_is_there_in_order() -> None:
    found = told(
        700,
        (0, push("passive:a closing:b")),
        (500, SETTLE),
        (501, judged("wait")),
        (600, push("continuous:c closing:d")),
    )
    assert [(deadline.reason, deadline.at) for deadline in found.deadlines] == [
        (Reason.CLOSING, 1100),
        (Reason.CONTINUOUS, 1600),
        (Reason.HORIZON, 10_501),
        (Reason.AGE, 60_600),
    ]
    assert found.held is not None
    assert (found.held.event_count, found.held.waits, found.held.horizon_at) == (2, 1, 10_501)
    assert (found.open.event_count, found.open.acts) == (2, 2)
    assert found.due.settle == 1100


def test_what_is_in_judgement_has_its_lease_and_its_routes() -> None:
    found = told(600, *ASKED, (550, push("flush:c")))
    assert found.judging is not None
    assert found.judging.window_id == window_id("repo", ["a", "b"])
    assert (found.judging.work.status, found.judging.work.until) == (Trying.RUNNING, 30_500)
    assert Route.WAIT in found.judging.routes
    assert [deadline.reason for deadline in found.deadlines] == [Reason.FLUSH, Reason.AGE]
    assert found.due.settle == 30_500


def test_the_outbox_and_the_dead_letters_are_listed_with_their_tries() -> None:
    decided: list[Line] = [(0, push("flush:a")), (0, SETTLE), (0, judged("queue"))]
    given_up: list[Line] = [(1, push("flush:b")), (1, SETTLE), (1, failed("it broke", permanent=True))]
    found = told(2, *decided, *given_up, (1, DELIVER))
    [parcel] = found.outbox.decisions
    assert (found.outbox.count, found.outbox.limit, parcel.event_count) == (1, 1000, 1)
    assert (parcel.work.status, parcel.work.until) == (Trying.RUNNING, 10_001)
    [letter] = found.dead_letters.letters
    assert (letter.message, letter.window_id) == ("it broke", window_id("repo", ["b"]))
    assert letter.work is not None
    assert letter.work.status is Trying.DUE
    assert [(verdict.route, verdict.event_count) for verdict in found.recent] == [(Route.QUEUE, 1)]
    after = told(3, *decided, (1, DELIVER), (2, delivered))
    assert after.outbox.count == 0


def test_a_full_lane_is_named_and_the_lists_are_bounded() -> None:
    rules = with_rules(max_outbox=1)
    state = tell((0, push("flush:a")), (0, SETTLE), (0, judged("queue")), rules=rules).state
    assert report(state, rules, 1).full == "outbox"
    words = " ".join(f"log:{n}" for n in range(LISTED + 5))
    found = told(0, (0, push(words)))
    assert found.open.event_count == LISTED + 5
    assert [line.id for line in found.open.events] == [str(n) for n in range(5, LISTED + 5)]


def test_a_long_text_is_cut() -> None:
    state = tell((0, msgspec.structs.replace(push(""), events=(event("log:a", text="x" * 999),)))).state
    text = report(state, RULES, 0).open.events[0].text
    assert text is not None
    assert len(text) == TEXT
    assert text.endswith("…")


def test_without_a_handler_a_dead_letter_waits_for_nothing() -> None:
    rules = with_rules(dead_letter=False)
    lines: list[Line] = [(0, push("flush:b")), (0, SETTLE), (0, failed("no", permanent=True))]
    found = report(tell(*lines, rules=rules).state, rules, 1)
    assert found.dead_letters.handler is False
    assert found.dead_letters.letters[0].work is None


def test_a_lost_scope_says_so() -> None:
    found = report(fresh(), RULES, 5, lost=True)
    assert found.status is Status.LOST
    assert "gone" in found.why


def test_it_goes_over_the_wire_in_camel_case_and_back() -> None:
    found = told(2, *ASKED, (501, push("closing:c")))
    data = msgspec.json.encode(found)
    assert msgspec.json.decode(data, type=Report) == found
    names = set(msgspec.json.decode(data)) | set(msgspec.json.decode(data)["open"])
    assert {"changedAt", "deadLetters", "eventCount", "rememberedIds"} <= names
    assert not any("_" in name for name in names)


def test_time_does_not_go_back_behind_the_state() -> None:
    state: ScopeState = tell((1000, push("closing:a"))).state
    assert report(state, RULES, 10).now == 1000
    assert due_at(state, RULES) == report(state, RULES, 10).due
