"""Dead letters that someone retries or drops."""

from __future__ import annotations

from attend.core.effect import Judge, Keep
from attend.core.input import DeadDropped, DeadRetried
from attend.core.letter import Lettered, LetterOutcome
from attend.core.step import Taken
from attend.core.types import Lane, Reason, Route, Window
from tests.core.stories import (
    BURY,
    DELIVER,
    SETTLE,
    Line,
    Told,
    buried,
    dead,
    decide,
    delivered,
    event,
    failed,
    judged,
    lane_of,
    lost,
    push,
    tell,
    with_rules,
)

DONE = Lettered(LetterOutcome.DONE)
KEPT = with_rules(dead_letter=False)


def retry(told: Told, place: int = 0) -> DeadRetried:
    """A retry of one of the letters there are, with the window that was kept of it."""
    letter = told.state.dead[place]
    kept = [each.window for each in told.raw if isinstance(each, Keep) and each.window.id == letter.window]
    return DeadRetried(letter.id, letter.at, kept[-1] if kept else None)


def drop(told: Told, place: int = 0) -> DeadDropped:
    """A drop of one of the letters there are."""
    letter = told.state.dead[place]
    return DeadDropped(letter.id, letter.at)


def undelivered(at: int, id: str) -> list[Line]:
    """A decision that the sink refuses for good."""
    return [*decide(at, id), (at, DELIVER), (at, failed("410", Lane.DELIVER, permanent=True))]


def test_a_window_is_judged_again_with_fresh_counts() -> None:
    told = tell(*dead(0, "a"), rules=KEPT)
    again = tell((5, retry(told)), (5, SETTLE), state=told.state)
    assert again.replies == [DONE]
    assert again.effects == [
        f"5 drop {told.state.dead[0].window}",
        "5 judge flush a (no wait)",
    ]
    assert again.state.dead == ()
    call = again.raw[-1]
    assert isinstance(call, Judge)
    assert (call.starts, call.suspect) == (1, False)
    told = tell((6, judged("note")), state=again.state)
    assert [parcel.event_ids for parcel in told.state.outbox] == [("a",)]


def test_a_window_that_is_retried_is_due_at_once_and_is_not_put_off() -> None:
    told = tell((0, push("closing:a")), (500, SETTLE), (500, failed("no", permanent=True)))
    again = tell((900, retry(told)), state=told.state)
    assert again.due.settle == 900
    again = tell((900, SETTLE), state=again.state)
    call = again.raw[-1]
    assert isinstance(call, Judge)
    assert Route.WAIT not in call.routes


def test_a_retry_while_something_is_judged_waits_for_it() -> None:
    told = tell(*dead(0, "a"), (1, push("flush:b")), (1, SETTLE))
    again = tell((2, retry(told)), (2, SETTLE), state=told.state)
    assert lane_of(again.effects, "judge") == []
    assert again.due.settle == 30_001
    again = tell((3, judged("queue")), (3, SETTLE), state=again.state)
    assert lane_of(again.effects, "judge") == ["3 judge flush a (no wait)"]


def test_windows_that_are_retried_go_in_the_order_asked_and_what_settles_has_its_turn_between() -> None:
    told = tell(*dead(0, "a"), *dead(1, "b"), *dead(2, "c"), rules=KEPT)
    a, b, c = (retry(told, place) for place in range(3))
    again = tell(
        *((3, b), (3, a), (3, c)),
        *((4, SETTLE), (5, push("flush:d")), (6, judged("queue"))),
        *((6, SETTLE), (7, judged("queue"))),
        *((7, SETTLE), (8, judged("queue"))),
        *((8, SETTLE), (9, judged("queue"))),
        state=told.state,
        rules=KEPT,
    )
    assert [line.split()[3] for line in lane_of(again.effects, "judge")] == ["b", "a", "d", "c"]
    assert again.state.again == ()


def test_what_is_held_is_left_alone_by_a_retry() -> None:
    told = tell(*dead(0, "a"), (1, push("closing:b")), (501, SETTLE), (502, judged("wait")))
    again = tell((600, retry(told)), (600, SETTLE), (601, judged("queue")), state=told.state)
    assert again.state.held is not None
    assert again.state.held.window.event_ids == ("b",)
    assert again.due.settle == 10_502


def test_a_window_that_fails_again_is_a_dead_letter_again() -> None:
    told = tell(*dead(0, "a"), rules=KEPT)
    again = tell(
        (5, retry(told)), (6, SETTLE), (7, failed("still no", permanent=True)), state=told.state, rules=KEPT
    )
    assert lane_of(again.effects, "keep") == ["7 keep a"]
    assert [(each.id, each.at, each.message) for each in again.state.dead] == [
        (told.state.dead[0].id, 7, "still no")
    ]


def test_a_retry_of_an_earlier_death_changes_nothing() -> None:
    told = tell(*dead(0, "a"), rules=KEPT)
    first = retry(told)
    again = tell((5, first), (6, SETTLE), (7, failed("no", permanent=True)), state=told.state, rules=KEPT)
    late = tell((8, first), state=again.state, rules=KEPT)
    assert late.replies == [Lettered(LetterOutcome.UNKNOWN)]
    assert late.state == again.state


def test_events_of_a_window_that_waits_for_its_retry_are_known() -> None:
    rules = with_rules(seen_count=1, max_events=1, dead_letter=False)
    told = tell(*dead(0, "a"), rules=rules)
    again = tell((5, retry(told)), (6, push("log:b")), (6, push("flush:a")), state=told.state, rules=rules)
    assert again.replies[-1] == Taken(0, duplicates=(0,))


def test_a_decision_joins_the_end_of_the_outbox_with_fresh_counts() -> None:
    told = tell(*undelivered(0, "a"), *decide(1, "b"), (1, DELIVER), rules=KEPT)
    again = tell((2, retry(told)), (3, delivered), (3, DELIVER), state=told.state, rules=KEPT)
    assert again.replies == [DONE]
    assert lane_of(again.effects, "deliver") == [f"3 deliver {told.state.dead[0].window}"]
    [parcel] = again.state.outbox
    assert (parcel.event_ids, parcel.attempt.failures, parcel.attempt.losses) == (("a",), 0, 0)


def test_a_decision_without_a_sink_stays_a_dead_letter() -> None:
    told = tell(*undelivered(0, "a"), rules=KEPT)
    again = tell((2, retry(told)), state=told.state, rules=with_rules(sink=False))
    assert again.replies == [Lettered(LetterOutcome.NO_SINK)]
    assert again.state == told.state


def test_a_window_that_is_stored_no_more_stays_a_dead_letter() -> None:
    told = tell(*dead(0, "a"))
    letter = told.state.dead[0]
    other = Window("repo", (event("flush:z"),), Reason.FLUSH, 0)
    for window in (None, other):
        again = tell((1, DeadRetried(letter.id, letter.at, window)), state=told.state)
        assert again.replies == [Lettered(LetterOutcome.GONE)]
        assert again.state == told.state


def test_no_more_waits_than_one_window_may_hold_but_one_always_does() -> None:
    rules = with_rules(max_window_bytes=100, dead_letter=False)
    told = tell(*dead(0, "a"), *dead(1, "b"), rules=rules)
    a, b = retry(told, 0), retry(told, 1)
    again = tell((2, a), (2, b), state=told.state, rules=rules)
    assert again.replies == [DONE, Lettered(LetterOutcome.FULL)]
    again = tell((3, SETTLE), (3, b), state=again.state, rules=rules)
    assert again.replies == [DONE]


def test_a_full_lane_takes_events_again_once_a_letter_is_retried_or_dropped() -> None:
    rules = with_rules(max_dead_letters=1, dead_letter=False)
    told = tell(*dead(0, "a"), (1, push("log:b")), rules=rules)
    assert told.replies[-1] == Taken(0, refused=(0,), full="dead letters")
    for ask in (retry(told), drop(told)):
        again = tell((2, ask), (2, push("log:b")), state=told.state, rules=rules)
        assert again.replies == [DONE, Taken(1)]


def test_a_letter_that_is_dropped_is_gone_with_its_window() -> None:
    told = tell(*dead(0, "a"), *dead(0, "b"), rules=KEPT)
    after = tell((1, drop(told)), state=told.state, rules=KEPT)
    assert after.replies == [DONE]
    assert after.effects == [f"1 drop {told.state.dead[0].window}"]
    assert after.traces == ["1 letter dropped"]
    assert [each.event_ids for each in after.state.dead] == [("b",)]
    unknown = tell((2, drop(told)), state=after.state, rules=KEPT)
    assert unknown.replies == [Lettered(LetterOutcome.UNKNOWN)]


def test_what_the_handler_says_of_a_letter_that_was_retried_is_refused() -> None:
    told = tell(*dead(0, "a"), *dead(0, "b"), (1, BURY))
    taken, late = buried(told.state), failed(lane=Lane.BURY)(told.state)
    for said in (taken, late, lost(Lane.BURY)(told.state)):
        after = tell((2, retry(told)), (3, said), state=told.state)
        assert after.traces[-1] == "3 stale bury"
        assert [each.event_ids for each in after.state.dead] == [("b",)]
