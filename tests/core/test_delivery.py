"""The outbox: rules 19 and 20 of behaviour."""

from __future__ import annotations

import pytest

from attend.core.effect import Deliver, Log
from attend.core.input import Delivered, Judged
from attend.core.step import Settling, Taken
from attend.core.types import Decision, Judgment, Lane, Route, Stage, letter_id, window_id
from tests.core.stories import (
    DELIVER,
    SETTLE,
    decide,
    delivered,
    failed,
    flushed,
    judged,
    lane_of,
    lost,
    push,
    released,
    tell,
    with_rules,
)


@pytest.mark.parametrize("route", ["interrupt", "queue", "note", "ask"])
def test_a_delivered_route_makes_a_row_and_an_outbox_entry_in_one_step(route: str) -> None:
    told = tell(*decide(0, "a", route))
    assert told.effects[-1] == f"0 log {route} a (held)"
    assert [parcel.id for parcel in told.state.outbox] == [window_id("repo", ["a"])]
    assert told.due.deliver == 0


@pytest.mark.parametrize("route", ["skip", "wait"])
def test_skip_and_wait_make_no_row(route: str) -> None:
    told = tell((0, push("closing:a")), (500, SETTLE), (501, judged(route)))
    assert told.effects == ["500 judge closing a"]
    assert told.traces[-1] == f"501 verdict {route}"
    assert told.state.outbox == ()
    assert [one.route for one in told.state.recent] == [route]


def test_a_decision_carries_what_was_decided_and_why() -> None:
    judgment = Judgment("queue", {"queue": 3.0, "note": 1.0, "made up": 9.0}, 0.8, {"asked": 0.1}, "jev")
    told = tell(
        (0, push("log:x closing:a")), (500, SETTLE), (600, Judged(window_id("repo", ["x", "a"]), 1, judgment))
    )
    log = told.raw[-1]
    assert isinstance(log, Log)
    decision = log.decision
    assert isinstance(decision, Decision)
    assert (decision.route, decision.reason, decision.decided_at) == (Route.QUEUE, "closing", 600)
    assert decision.event_ids == ("x", "a")
    assert decision.window.event_ids == ("x", "a")
    assert decision.probabilities is not None
    assert decision.probabilities["queue"] == pytest.approx(0.75)
    assert "made up" not in decision.probabilities
    assert (decision.confidence, decision.predicates, decision.judge) == (0.8, {"asked": 0.1}, "jev")
    assert decision.notice.endswith("Take this up when the current turn ends.")


def test_without_a_sink_there_is_no_outbox() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), rules=with_rules(sink=False))
    assert told.effects == ["0 judge flush a (no wait)", "0 log queue a"]
    assert told.state.outbox == ()
    assert told.due.deliver is None


def test_the_outbox_goes_out_one_at_a_time_oldest_first() -> None:
    told = tell(
        *decide(0, "a"),
        *decide(1, "b"),
        (2, DELIVER),
        (3, DELIVER),
        (4, delivered),
        (5, DELIVER),
        (6, delivered),
    )
    assert lane_of(told.effects, "deliver", "drop") == [
        "2 deliver a",
        "4 drop a (done)",
        "5 deliver b",
        "6 drop b (done)",
    ]
    assert told.due.deliver is None


def test_a_delivery_holds_up_no_judge_and_a_judge_no_delivery() -> None:
    told = tell(*decide(0, "a"), (0, push("flush:b")), (0, SETTLE), (1, DELIVER), (1, SETTLE))
    assert told.effects[-2:] == ["0 judge flush b (no wait)", "1 deliver a"]
    assert (told.due.settle, told.due.deliver) == (30_000, 10_001)


def test_a_delivery_that_fails_climbs_the_ladder_and_becomes_a_dead_letter() -> None:
    told = tell(
        *decide(0, "a"),
        *decide(0, "b"),
        (0, DELIVER),
        (10, failed(lane=Lane.DELIVER)),
        (1009, DELIVER),
        (1010, DELIVER),
        (1020, failed(lane=Lane.DELIVER)),
        (5020, DELIVER),
        (5030, failed(lane=Lane.DELIVER)),
        (21_030, DELIVER),
        (21_040, failed("gone", Lane.DELIVER)),
        (21_040, DELIVER),
    )
    assert lane_of(told.effects, "deliver", "keep", "drop") == [
        "0 deliver a",
        "1010 deliver a",
        "5020 deliver a",
        "21030 deliver a",
        "21040 deliver b",
    ]
    letter = told.state.dead[0]
    assert (letter.id, letter.window) == (letter_id(window_id("repo", ["a"])), window_id("repo", ["a"]))
    assert (letter.stage, letter.message, letter.starts, letter.at) == (Stage.SINK, "gone", 4, 21_040)


def test_the_same_decision_has_the_same_id_at_every_try() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), (1, failed(lane=Lane.DELIVER)), (1001, DELIVER))
    tries = [one for one in told.raw if isinstance(one, Deliver)]
    assert len({one.id for one in tries}) == 1
    assert len({one.token for one in tries}) == 2


def test_a_permanent_failure_of_a_delivery_is_a_dead_letter_at_once() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), (1, failed("410", Lane.DELIVER, permanent=True)))
    assert told.state.outbox == ()
    assert told.traces[-1] == "1 dead sink after 1: 410"


def test_a_delivery_is_retried_no_earlier_than_the_sink_asked() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), (1, failed(lane=Lane.DELIVER, retry_after_ms=7000)))
    assert told.due.deliver == 7001


def test_a_delivery_has_a_lease_and_losing_it_is_a_loss() -> None:
    told = tell(*decide(0, "a"), (5, DELIVER), (10_004, DELIVER))
    assert told.due.deliver == 10_005
    told = tell((10_005, DELIVER), state=told.state)
    assert told.due.deliver is not None
    assert 10_006 <= told.due.deliver <= 11_005
    assert (told.state.outbox[0].attempt.losses, told.state.outbox[0].attempt.failures) == (1, 0)


def test_a_delivery_that_kills_its_workers_is_suspect_and_then_a_dead_letter_that_says_so() -> None:
    told = tell(
        *decide(0, "a"),
        *(line for at in range(0, 40_000, 10_000) for line in ((at, DELIVER), (at + 1, lost(Lane.DELIVER)))),
    )
    assert lane_of(told.effects, "deliver") == [
        "0 deliver a",
        "10000 deliver a",
        "20000 deliver a (suspect)",
        "30000 deliver a (suspect)",
    ]
    assert told.state.dead[0].stage is Stage.SINK
    assert "lost 4 times" in told.state.dead[0].message


def test_a_delivery_that_arrived_counts_whoever_holds_the_lease() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), (10_000, DELIVER), (10_000, delivered))
    assert told.effects[-1] == "10000 drop a (done)"


def test_a_delivery_of_something_else_is_refused() -> None:
    told = tell(*decide(0, "a"), *decide(0, "b"), (1, Delivered(Lane.DELIVER, window_id("repo", ["b"]))))
    assert told.traces[-1] == "1 stale deliver"
    assert len(told.state.outbox) == 2


def test_a_delivery_handed_back_starts_again_at_once() -> None:
    told = tell(*decide(0, "a"), (0, DELIVER), (5, released(Lane.DELIVER)), (5, DELIVER))
    assert lane_of(told.effects, "deliver") == ["0 deliver a", "5 deliver a"]
    assert told.state.outbox[0].attempt.starts == 1


def test_a_full_outbox_refuses_new_events_and_names_itself() -> None:
    rules = with_rules(max_outbox=1)
    told = tell(*decide(0, "a"), (1, push("log:b flush:a log:c")), rules=rules)
    assert told.replies[-1] == Taken(0, duplicates=(1,), refused=(0, 2), full="outbox")
    assert told.state.open.events == ()
    assert "b" not in told.state.seen


def test_a_full_lane_takes_events_again_once_it_drains() -> None:
    told = tell(
        *decide(0, "a"),
        (1, push("log:b")),
        (1, DELIVER),
        (2, delivered),
        (3, push("log:b")),
        rules=with_rules(max_outbox=1),
    )
    assert told.replies[-1] == Taken(1)


def test_with_a_full_outbox_what_is_open_still_settles_and_flushes() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (0, push("log:b")),
        (1, judged("queue")),
        (2, flushed()),
        (2, SETTLE),
        (3, judged("note")),
        rules=with_rules(max_outbox=1),
    )
    assert told.replies[-1] == Settling(True)
    assert told.effects[-2:] == ["2 judge forced b (no wait)", "3 log note b (held)"]
    assert len(told.state.outbox) == 2


def test_an_outbox_left_over_from_a_sink_that_is_gone_holds_nothing_up() -> None:
    told = tell(*decide(0, "a"), rules=with_rules(max_outbox=1))
    told = tell(
        (1, DELIVER), (2, push("log:b")), state=told.state, rules=with_rules(max_outbox=1, sink=False)
    )
    assert told.effects == []
    assert told.due.deliver is None
    assert told.replies == [Taken(1)]
    told = tell((3, DELIVER), state=told.state)
    assert told.effects == [f"3 deliver {window_id('repo', ['a'])}"]
