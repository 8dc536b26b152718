"""The judge slot: rules 13 to 16 and 18 of behaviour."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from attend.core.attempt import loss_backoff
from attend.core.effect import Judge, Log
from attend.core.input import Input, Judged, Released, Ticked
from attend.core.state import ScopeState
from attend.core.types import Judgment, Lane, Route, window_id
from tests.core.stories import SETTLE, Line, failed, judged, lost, push, released, tell, with_rules

ID = window_id("repo", ["a"])
CALLED: list[Line] = [(0, push("flush:a")), (0, SETTLE)]


def judge(told_raw: list[object]) -> Judge:
    """The last judge call that was asked for."""
    return [one for one in told_raw if isinstance(one, Judge)][-1]


def verdict(token: int, route: str = "queue") -> Judged:
    """A verdict on window a under a given token."""
    return Judged(ID, token, Judgment(route))


def test_one_judge_call_per_scope_at_a_time() -> None:
    told = tell(*CALLED, (1, push("flush:b")), (1, SETTLE), (2, SETTLE), (29_999, SETTLE))
    assert told.effects == ["0 judge flush a (no wait)"]
    assert told.due.settle == 30_000


def test_a_judge_call_has_a_lease_of_twice_its_timeout_and_a_token() -> None:
    told = tell(*CALLED, rules=with_rules(judge_timeout_ms=700))
    call = judge([*told.raw])
    assert (call.leased_until, call.token, call.starts) == (1400, 1, 1)
    assert told.due.settle == 1400


def test_the_call_carries_the_window_and_the_routes_on_offer() -> None:
    call = judge([*tell((0, push("log:x closing:a")), (500, SETTLE)).raw])
    assert call.window.event_ids == ("x", "a")
    assert set(call.routes) == set(Route)
    assert set(judge([*tell(*CALLED).raw]).routes) == set(Route) - {Route.WAIT}


def test_a_verdict_counts_past_the_lease_while_its_token_is_current() -> None:
    told = tell(*CALLED, (40_000, verdict(1)))
    assert told.effects[-1] == "40000 log queue a (held)"


def test_a_verdict_counts_after_its_loss_was_counted_until_another_start() -> None:
    told = tell(*CALLED, (30_000, SETTLE), (30_000, verdict(1)))
    assert told.effects[-1] == "30000 log queue a (held)"
    told = tell(*CALLED, (30_000, SETTLE), (32_000, SETTLE), (32_001, verdict(1)))
    assert told.effects == ["0 judge flush a (no wait)", "32000 judge flush a (no wait) (start 2)"]
    assert told.traces[-1] == "32001 stale settle"


def test_of_a_frozen_worker_and_the_one_that_took_over_exactly_one_commits() -> None:
    told = tell(
        *CALLED, (30_000, SETTLE), (32_000, SETTLE), (32_005, verdict(2, "note")), (32_006, verdict(1))
    )
    assert [line for line in told.effects if "log" in line] == ["32005 log note a (held)"]


@pytest.mark.parametrize("end", [failed(), lost(), released()])
def test_the_end_of_an_older_call_is_refused(end: Callable[[ScopeState], Input]) -> None:
    told = tell(*CALLED)
    stale = end(told.state)
    later = tell((30_000, SETTLE), (32_000, SETTLE), state=told.state)
    refused = tell((32_001, stale), state=later.state)
    assert refused.state == later.state
    assert refused.traces == ["32001 stale settle"]


def test_a_verdict_on_another_window_is_refused() -> None:
    told = tell(*CALLED, (1, Judged(window_id("repo", ["b"]), 1, Judgment("queue"))))
    assert told.traces[-1] == "1 stale settle"
    assert told.state.slot is not None


def test_tokens_count_up_and_are_never_used_again() -> None:
    told = tell(*CALLED, (1, released()), (1, SETTLE), (2, failed()), (1002, SETTLE), (1003, judged("skip")))
    assert [one.token for one in told.raw if isinstance(one, Judge)] == [1, 2, 3]
    told = tell((2000, push("flush:b")), (2000, SETTLE), state=told.state)
    assert judge([*told.raw]).token == 4


def test_a_failure_climbs_the_ladder_of_three_retries_and_the_fourth_start_is_the_last() -> None:
    told = tell(
        *CALLED,
        (10, failed()),
        (1009, SETTLE),
        (1010, SETTLE),
        (1020, failed()),
        (5020, SETTLE),
        (5030, failed()),
        (21_030, SETTLE),
        (21_040, failed("the last")),
    )
    assert told.effects == [
        "0 judge flush a (no wait)",
        "1010 judge flush a (no wait) (start 2)",
        "5020 judge flush a (no wait) (start 3)",
        "21030 judge flush a (no wait) (start 4)",
        "21040 keep a",
    ]
    assert told.traces[-1] == "21040 dead judge after 4: the last"
    assert told.due.settle is None


def test_a_window_that_waits_for_its_retry_keeps_the_slot() -> None:
    told = tell(*CALLED, (10, failed()), (11, push("flush:b")), (11, SETTLE))
    assert told.due.settle == 1010
    assert told.effects == ["0 judge flush a (no wait)"]


@pytest.mark.parametrize(("asked", "due"), [(0, 1010), (999, 1010), (5000, 5010)])
def test_a_retry_is_never_earlier_than_the_other_side_asked(asked: int, due: int) -> None:
    told = tell(*CALLED, (10, failed(retry_after_ms=asked)))
    assert told.due.settle == due


def test_a_permanent_failure_is_a_dead_letter_at_once() -> None:
    told = tell(*CALLED, (10, failed("no such model", permanent=True)))
    assert told.effects[-1] == "10 keep a"
    assert told.traces[-1] == "10 dead judge after 1: no such model"


@pytest.mark.parametrize("route", ["wait", "nonsense", ""])
def test_a_route_that_was_not_offered_is_a_failure_and_is_retried(route: str) -> None:
    told = tell(*CALLED, (10, judged(route)), (1010, SETTLE))
    assert told.effects[-1] == "1010 judge flush a (no wait) (start 2)"
    assert told.traces[-1].startswith(f"10 retry settle at 1010: the judge answered {route!r}")


def test_probabilities_that_are_no_numbers_are_a_failure() -> None:
    told = tell(*CALLED, (10, judged("queue", {"queue": float("nan")})))
    assert told.due.settle == 1010


@pytest.mark.parametrize(
    "judgment",
    [Judgment("queue", confidence=85.0), Judgment("queue", predicates={"asked": -0.1})],
    ids=["confidence", "predicate"],
)
def test_a_share_outside_0_to_1_is_a_failure(judgment: Judgment) -> None:
    told = tell(*CALLED, (10, Judged(ID, 1, judgment)))
    assert told.due.settle == 1010


def test_a_lease_that_ran_out_is_a_loss_and_backs_off_with_jitter() -> None:
    told = tell(*CALLED, (30_000, SETTLE))
    assert told.due.settle == 30_000 + loss_backoff(ID, 1, 1000)
    assert told.due.settle in range(30_001, 31_001)
    assert told.traces[-1].endswith("(lost)")


def test_without_takeover_an_expired_lease_is_left_alone() -> None:
    told = tell(*CALLED, (30_000, Ticked(Lane.SETTLE, takeover=False)))
    assert told.due.settle == 30_000
    assert told.traces == ["0 settled flush 1"]


def test_a_worker_seen_to_die_is_a_loss_before_the_lease_runs_out() -> None:
    told = tell(*CALLED, (100, lost()))
    assert told.due.settle is not None
    assert 101 <= told.due.settle <= 1100


def test_after_two_losses_a_window_is_suspect_and_after_the_fourth_a_dead_letter_that_says_so() -> None:
    told = tell(
        *CALLED,
        (1000, lost()),
        (10_000, SETTLE),
        (11_000, lost()),
        (20_000, SETTLE),
        (21_000, lost()),
        (30_000, SETTLE),
        (31_000, lost()),
    )
    assert told.effects == [
        "0 judge flush a (no wait)",
        "10000 judge flush a (no wait) (start 2)",
        "20000 judge flush a (no wait) (start 3) (suspect)",
        "30000 judge flush a (no wait) (start 4) (suspect)",
        "31000 keep a",
    ]
    assert "lost 4 times" in told.traces[-1]


def test_losses_and_failures_are_counted_apart_and_starts_together() -> None:
    told = tell(
        *CALLED, (1, failed()), (2000, SETTLE), (2001, lost()), (9000, SETTLE), (9001, judged("note"))
    )
    log = [one for one in told.raw if isinstance(one, Log)][-1]
    assert log.decision.starts == 3


def test_a_lost_call_is_not_a_rung_of_the_ladder() -> None:
    told = tell(*CALLED, (1, lost()), (2000, SETTLE), (2001, failed()))
    assert told.due.settle == 3001


def test_a_window_that_kills_its_worker_lets_the_next_be_judged_in_the_same_tick() -> None:
    told = tell(*CALLED, (1, push("flush:b")))
    assert told.state.slot is not None
    attempt = replace(told.state.slot.attempt, losses=3)
    state = replace(told.state, slot=replace(told.state.slot, attempt=attempt))
    told = tell((30_000, SETTLE), state=state)
    assert told.effects == [f"30000 keep {ID}", "30000 judge flush b (no wait)"]


def test_a_worker_that_stops_hands_its_lease_back_and_nothing_is_counted() -> None:
    told = tell(*CALLED, (100, released()), (100, SETTLE))
    assert told.effects[-1] == "100 judge flush a (no wait)"
    assert judge([*told.raw]).starts == 1


def test_what_a_released_call_yet_says_is_refused() -> None:
    told = tell(*CALLED, (100, released()), (101, verdict(1)))
    assert told.traces[-1] == "101 stale settle"


def test_after_a_failure_the_same_call_can_say_nothing_more() -> None:
    told = tell(*CALLED, (10, failed()), (11, verdict(1)))
    assert told.traces[-1] == "11 stale settle"
    assert told.due.settle == 1010


def test_the_judge_sees_the_recent_verdicts_skip_and_wait_among_them() -> None:
    lines: list[Line] = []
    for n, route in enumerate(["queue", "skip", "note", "skip"]):
        lines += [(n, push(f"flush:{n}")), (n, SETTLE), (n, judged(route))]
    told = tell(*lines, (9, push("flush:x")), (9, SETTLE), rules=with_rules(recent_count=3))
    assert [one.route for one in judge([*told.raw]).recent] == ["skip", "note", "skip"]
    told = tell((0, push("closing:a")), (500, SETTLE), (501, judged("wait")))
    assert [(one.at, one.route, one.reason, one.events) for one in told.state.recent] == [
        (501, "wait", "closing", 1)
    ]


def test_without_a_recent_count_none_are_kept() -> None:
    told = tell(*CALLED, (1, judged("skip")), rules=with_rules(recent_count=0))
    assert told.state.recent == ()


def test_the_act_threshold_is_applied_before_the_decision_is_logged() -> None:
    sure = {"interrupt": 0.5, "ask": 0.25, "queue": 0.25}
    told = tell(*CALLED, (1, judged("queue", sure)), rules=with_rules(act_threshold=0.7))
    assert told.effects[-1] == "1 log interrupt a (held)"
    assert "1 thresholded queue to interrupt" in told.traces
    log = [one for one in told.raw if isinstance(one, Log)][-1]
    assert (log.decision.changed_from, log.decision.route) == (Route.QUEUE, Route.INTERRUPT)
    assert log.decision.notice.endswith("Attend to this now, even mid-task.")


def test_the_threshold_can_quiet_a_decision_into_no_row() -> None:
    told = tell(
        *CALLED,
        (1, judged("interrupt", {"interrupt": 0.4, "skip": 0.6})),
        rules=with_rules(act_threshold=0.7),
    )
    assert told.effects == ["0 judge flush a (no wait)"]
    assert told.state.recent[-1].route is Route.SKIP


def test_a_judge_that_is_permanently_wrong_does_not_hold_the_scope_up() -> None:
    told = tell(*CALLED, (1, push("flush:b")), (2, failed(permanent=True)), (2, SETTLE))
    assert told.effects[-1] == "2 judge flush b (no wait)"


def test_a_release_is_known_by_its_token() -> None:
    def stale(state: ScopeState) -> Released:
        return Released(Lane.SETTLE, ID, 7)

    told = tell(*CALLED, (1, stale))
    assert told.traces[-1] == "1 stale settle"
