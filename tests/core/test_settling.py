"""When a window settles, and why: rules 1, 3, 6, 7 and 8 of behaviour."""

from __future__ import annotations

import pytest

from attend.core.input import Ended, Pushed
from attend.core.step import Settling
from tests.core.stories import SETTLE, event, flushed, judged, push, tell, with_rules

DAY = 86_400_000


@pytest.mark.parametrize("at", [0, DAY, -DAY])
def test_settle_timers_run_on_the_time_an_event_was_accepted(at: int) -> None:
    told = tell((0, push("closing:a", at=at)), (499, SETTLE), (500, SETTLE))
    assert told.effects == ["500 judge closing a"]


def test_an_event_a_day_ahead_changes_nothing_for_the_others() -> None:
    told = tell(
        (0, push("closing:a")),
        (100, Pushed((event("passive:b", at=DAY),))),
        (500, SETTLE),
    )
    assert told.effects == ["500 judge closing a b"]


def test_within_a_scope_time_never_goes_back() -> None:
    told = tell((1000, push("closing:a")), (10, push("closing:b")))
    assert told.state.now == 1000
    assert told.state.open.events[1].accepted_at == 1000
    assert told.due.settle == 1500


def test_an_event_keeps_the_at_of_its_producer() -> None:
    told = tell((1000, push("closing:a", at=7)))
    assert (told.state.open.events[0].at, told.state.open.events[0].accepted_at) == (7, 1000)


@pytest.mark.parametrize(("kind", "due"), [("closing", 500), ("continuous", 1000), ("passive", 4000)])
def test_each_kind_has_its_deadline(kind: str, due: int) -> None:
    told = tell((0, push(f"{kind}:a")), (due - 1, SETTLE), (due, SETTLE))
    assert told.effects == [f"{due} judge {kind} a"]
    assert tell((0, push(f"{kind}:a"))).due.settle == due


@pytest.mark.parametrize(("kind", "again"), [("closing", 400), ("continuous", 900), ("passive", 3900)])
def test_a_deadline_counts_from_the_last_event_of_its_kind(kind: str, again: int) -> None:
    quiet = {"closing": 500, "continuous": 1000, "passive": 4000}[kind]
    told = tell((0, push(f"{kind}:a")), (again, push(f"{kind}:b")))
    assert told.due.settle == again + quiet


def test_a_kind_puts_off_only_its_own_deadline() -> None:
    told = tell((0, push("closing:a")), (400, push("continuous:b")))
    assert told.due.settle == 500


def test_the_earliest_deadline_gives_the_reason() -> None:
    told = tell((0, push("closing:a passive:b continuous:c")), (9000, SETTLE))
    assert told.effects == ["9000 judge closing a b c"]


def test_an_act_that_goes_on_settles_by_age() -> None:
    told = tell(*((at, push(f"continuous:{at}")) for at in range(0, 60_001, 900)), (60_000, SETTLE))
    assert told.effects[0].startswith("60000 judge age 0 900 ")


def test_age_counts_from_the_first_act_and_not_from_what_came_before_it() -> None:
    told = tell(
        (0, push("log:a")),
        (50_000, push("passive:b")),
        *((t, push(f"passive:{t}")) for t in (53_000, 56_000)),
    )
    assert told.due.settle == 60_000
    told = tell((0, push("log:a")), (59_000, push("passive:b")), (62_000, push("passive:c")))
    assert told.due.settle == 66_000


def test_consequence_and_context_never_settle() -> None:
    told = tell((0, push("log:a own:b")), (DAY, SETTLE))
    assert told.effects == []
    assert told.due.settle is None


def test_the_output_an_act_causes_joins_its_window() -> None:
    told = tell((0, push("closing:a")), (499, push("log:b own:c")), (500, SETTLE))
    assert told.effects == ["500 judge closing a b c"]


def test_a_flush_settles_at_once_and_offers_no_wait() -> None:
    told = tell((0, push("log:a")), (3, push("flush:b")), (3, SETTLE))
    assert told.effects == ["3 judge flush a b (no wait)"]


def test_a_push_only_adds_to_the_window_and_the_tick_settles_it() -> None:
    told = tell((0, push("flush:a")), (5, push("log:b")), (9, SETTLE))
    assert told.effects == ["9 judge flush a b (no wait)"]


def test_a_forced_settle_takes_whatever_is_open_and_offers_no_wait() -> None:
    told = tell((0, push("log:a")), (10, flushed()), (10, SETTLE))
    assert told.replies[-1] == Settling(True)
    assert told.effects == ["10 judge forced a (no wait)"]


def test_an_end_settles_as_closing_with_wait_offered() -> None:
    told = tell((0, push("log:a passive:b")), (10, Ended("e1")), (10, SETTLE))
    assert told.replies[-1] == Settling(True)
    assert told.effects == ["10 judge closing a b"]


@pytest.mark.parametrize("asked", [flushed(), Ended("e1")])
def test_a_flush_or_end_of_nothing_does_nothing(asked: Ended) -> None:
    told = tell((10, asked), (10, SETTLE))
    assert told.replies == [Settling(False)]
    assert told.effects == []
    told = tell((10, asked), (20, push("log:a")), (30, SETTLE))
    assert told.effects == []


def test_a_flush_of_an_empty_window_judges_what_is_held() -> None:
    told = tell((0, push("closing:a")), (500, SETTLE), (600, judged("wait")), (700, flushed()), (700, SETTLE))
    assert told.effects == ["500 judge closing a", "700 judge forced a (no wait)"]


def test_an_end_of_an_empty_window_judges_what_is_held() -> None:
    told = tell(
        (0, push("closing:a")), (500, SETTLE), (600, judged("wait")), (700, Ended("e")), (700, SETTLE)
    )
    assert told.effects == ["500 judge closing a", "700 judge closing a"]


def test_a_held_window_merges_with_the_next_and_takes_its_reason() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (600, judged("wait")),
        (1000, push("passive:b")),
        (5000, SETTLE),
    )
    assert told.effects == ["500 judge closing a", "5000 judge passive a b"]
    assert told.state.slot is not None
    assert told.state.slot.window.waits == 1


def test_a_held_window_is_judged_at_its_horizon_with_what_is_open() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (600, judged("wait")),
        (9000, push("log:b")),
        (9500, push("passive:c")),
        (10_599, SETTLE),
        (10_600, SETTLE),
    )
    assert told.effects == ["500 judge closing a", "10600 judge horizon a b c (no wait)"]


def test_past_its_horizon_no_wait_is_offered_whatever_the_reason() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (600, judged("wait")),
        (10_000, push("closing:b")),
        (10_700, SETTLE),
    )
    assert told.effects[-1] == "10700 judge closing a b (no wait)"


def test_the_horizon_counts_from_each_wait() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (600, judged("wait")),
        (5000, push("closing:b")),
        (5500, SETTLE),
        (6000, judged("wait")),
    )
    assert told.due.settle == 16_000


def test_after_max_waits_it_is_not_offered() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (600, judged("wait")),
        (1000, push("closing:b")),
        (1500, SETTLE),
        (1600, judged("wait")),
        (2000, push("closing:c")),
        (2500, SETTLE),
    )
    assert told.effects == [
        "500 judge closing a",
        "1500 judge closing a b",
        "2500 judge closing a b c (no wait)",
    ]


def test_without_waits_none_is_ever_offered() -> None:
    told = tell((0, push("closing:a")), (500, SETTLE), rules=with_rules(max_waits=0))
    assert told.effects == ["500 judge closing a (no wait)"]


def test_a_merge_over_max_events_sheds_non_acts_and_settles_no_further() -> None:
    told = tell(
        (0, push("log:a log:b closing:c")),
        (500, SETTLE),
        (600, judged("wait")),
        (700, push("log:d closing:e")),
        (1200, SETTLE),
        (1300, judged("wait")),
        rules=with_rules(max_events=3, max_waits=9),
    )
    assert told.effects == ["500 judge closing a b c", "1200 judge closing c d e (dropped 2)"]
    assert told.due.settle == 11_300


def test_a_merge_of_acts_alone_keeps_them_all() -> None:
    told = tell(
        (0, push("closing:a closing:b")),
        (500, SETTLE),
        (600, judged("wait")),
        (700, push("closing:c closing:d")),
        (1200, SETTLE),
        rules=with_rules(max_events=3),
    )
    assert told.effects[-1] == "1200 judge closing a b c d"


def test_a_flush_wins_over_every_deadline_that_passed_before_it() -> None:
    told = tell((0, push("closing:a")), (900, push("flush:b")), (900, SETTLE))
    assert told.effects == ["900 judge flush a b (no wait)"]


def test_a_forced_settle_wins_over_every_deadline_but_a_flush() -> None:
    told = tell((0, push("closing:a")), (900, flushed()), (900, SETTLE))
    assert told.effects == ["900 judge forced a (no wait)"]
    told = tell((0, push("closing:a")), (900, flushed()), (901, push("flush:b")), (901, SETTLE))
    assert told.effects == ["901 judge flush a b (no wait)"]


def test_a_flush_after_an_end_is_not_put_off_with_wait() -> None:
    told = tell((0, push("log:a")), (5, Ended("e")), (6, flushed()), (7, SETTLE))
    assert told.effects == ["7 judge forced a (no wait)"]
    told = tell((0, push("log:a")), (5, flushed()), (6, Ended("e")), (7, SETTLE))
    assert told.effects == ["7 judge forced a (no wait)"]


def test_a_forced_settle_that_meets_a_taken_slot_settles_once_it_is_free() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (5, push("log:b")),
        (6, flushed()),
        (7, SETTLE),
        (8, judged("queue")),
    )
    assert told.replies[-1] == Settling(True)
    assert told.due.settle == 6
    told = tell((9, SETTLE), state=told.state)
    assert told.effects == ["9 judge forced b (no wait)"]


def test_a_gap_is_told_to_the_judge_and_ends_with_its_window() -> None:
    told = tell(
        (0, Pushed((), gap=True)),
        (1, push("flush:a")),
        (1, SETTLE),
        (2, judged("queue")),
        (3, push("flush:b")),
        (3, SETTLE),
    )
    assert [line for line in told.effects if "judge" in line] == [
        "1 judge flush a (no wait) (gap)",
        "3 judge flush b (no wait)",
    ]
