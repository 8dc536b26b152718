"""What joins the open window and what is shed from it: rules 4 and 5 of behaviour."""

from __future__ import annotations

import pytest

from attend.core.input import Ended, Pushed
from attend.core.step import Taken
from attend.core.types import Event
from tests.core.stories import SETTLE, event, flushed, judged, push, tell, with_rules


def big(word: str, size: int) -> Event:
    """An event reckoned at exactly `size` bytes."""
    bare = event(word, data=b"")
    return event(word, data=b"x" * (size - bare.size))


def test_non_acts_wait_for_an_act() -> None:
    told = tell((0, push("log:a")), (30_000, push("own:b")), (59_000, push("closing:c")), (59_500, SETTLE))
    assert told.effects == ["59500 judge closing a b c"]
    assert told.replies == [Taken(1), Taken(1), Taken(1)]


def test_when_an_act_comes_non_acts_older_than_max_window_are_dropped_first() -> None:
    told = tell(
        (0, push("log:old own:old2")),
        (1, push("log:edge")),
        (50_000, push("log:new")),
        (60_001, push("flush:act")),
        (60_001, SETTLE),
    )
    assert told.effects == ["60001 judge flush edge new act (no wait) (dropped 2)"]
    assert told.traces[0].split()[:3] == ["60001", "dropped", "2"]


def test_non_acts_that_have_their_act_are_not_dropped_for_age() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (10, push("log:b passive:c")),
        (70_000, push("closing:d")),
        (70_001, judged("queue")),
        (70_500, SETTLE),
    )
    assert told.effects[-1] == "70500 judge passive b c d"


def test_old_non_acts_are_no_reason_not_to_answer_a_flush_request() -> None:
    told = tell((0, push("log:a")), (90_000, flushed()), (90_000, SETTLE))
    assert told.effects == ["90000 judge forced a (no wait)"]


def test_past_max_events_the_oldest_non_acts_are_dropped_and_counted() -> None:
    rules = with_rules(max_events=3)
    told = tell((0, push("log:a passive:b log:c log:d log:e")), (4000, SETTLE), rules=rules)
    assert told.effects == ["4000 judge passive b d e (dropped 2)"]


def test_a_window_of_exactly_max_events_drops_nothing() -> None:
    told = tell((0, push("log:a log:b closing:c")), (500, SETTLE), rules=with_rules(max_events=3))
    assert told.effects == ["500 judge closing a b c"]


def test_acts_alone_that_are_too_many_settle_with_overflow() -> None:
    rules = with_rules(max_events=3)
    told = tell((5, push("passive:a passive:b passive:c")), (5, SETTLE), (6, push("passive:d")), rules=rules)
    assert told.effects == []
    assert told.due.settle == 5
    told = tell((6, SETTLE), state=told.state, rules=rules)
    assert told.effects == ["6 judge overflow a b c d"]


def test_no_act_is_ever_dropped() -> None:
    words = " ".join(
        f"{kind}:{kind}{n}" for n in range(9) for kind in ("log", "passive", "own", "continuous")
    )
    told = tell((0, push(words)), (0, SETTLE), rules=with_rules(max_events=4))
    acts = [word.partition(":")[2] for word in words.split() if not word.startswith(("log", "own"))]
    assert told.effects == [f"0 judge overflow {' '.join(acts)} (dropped 18)"]


@pytest.mark.parametrize(("size", "due"), [(599, 4000), (601, 0)])
def test_past_its_share_of_the_budget_a_window_settles_with_size(size: int, due: int) -> None:
    rules = with_rules(max_window_bytes=600)
    told = tell((0, Pushed((event("passive:a"), big("log:b", size - event("passive:a").size)))), rules=rules)
    assert told.due.settle == due


def test_size_is_the_reason_whatever_else_comes_due_later() -> None:
    told = tell(
        (0, push("closing:a")),
        (100, Pushed((big("log:b", 600),))),
        (100, SETTLE),
        rules=with_rules(max_window_bytes=600),
    )
    assert told.effects == ["100 judge size a b"]


def test_a_window_of_non_acts_sheds_its_oldest_instead_of_settling() -> None:
    rules = with_rules(max_window_bytes=600)
    told = tell(
        (0, Pushed((big("log:a", 250), big("log:b", 250), big("log:c", 250)))),
        (5, SETTLE),
        (9, push("flush:d")),
        (9, SETTLE),
        rules=rules,
    )
    assert told.effects == ["9 judge flush b c d (no wait) (dropped 1)"]


def test_one_non_act_over_the_budget_is_shed_itself() -> None:
    told = tell((0, Pushed((big("log:a", 601),))), rules=with_rules(max_window_bytes=600))
    assert told.state.open.events == ()
    assert told.state.open.dropped == 1
    assert told.replies == [Taken(1)]


def test_one_act_over_the_budget_settles_at_once() -> None:
    rules = with_rules(max_window_bytes=600)
    told = tell((0, Pushed((big("passive:a", 601),))), (0, SETTLE), rules=rules)
    assert told.effects == ["0 judge size a"]


def test_held_and_open_count_together_towards_the_budget() -> None:
    rules = with_rules(max_window_bytes=600)
    told = tell(
        (0, Pushed((big("closing:a", 400),))),
        (500, SETTLE),
        (600, judged("wait")),
        (700, Pushed((big("passive:b", 199),))),
        (700, SETTLE),
        (710, push("log:c")),
        (710, SETTLE),
        rules=rules,
    )
    assert told.effects == ["500 judge closing a", "710 judge size a b c"]


def test_a_held_window_that_is_full_settles_with_the_next_event_even_a_non_act() -> None:
    told = tell(
        (0, Pushed((big("closing:a", 400),))),
        (500, SETTLE),
        (600, judged("wait")),
        (700, Pushed((big("log:b", 201),))),
        (700, SETTLE),
        rules=with_rules(max_window_bytes=600),
    )
    assert told.effects == ["500 judge closing a", "700 judge size a b"]


def test_events_that_come_during_a_judge_call_wait_in_the_next_window() -> None:
    told = tell(
        (0, push("closing:a")),
        (500, SETTLE),
        (510, push("log:b closing:c")),
        (1200, SETTLE),
        (1300, judged("queue")),
        (1300, SETTLE),
    )
    assert told.effects == ["500 judge closing a", "1300 log queue a (held)", "1300 judge closing b c"]


def test_kinds_are_frozen_when_the_event_is_accepted() -> None:
    told = tell((0, push("log:a")), (1, push("closing:a")), (600, SETTLE))
    assert told.effects == []
    assert told.state.open.events[0].kind == "consequence"


def test_what_was_dropped_is_counted_in_the_next_window_only() -> None:
    told = tell(
        (0, push("log:a log:b log:c flush:d")),
        (0, SETTLE),
        (1, judged("skip")),
        (2, push("flush:e")),
        (2, SETTLE),
        rules=with_rules(max_events=2),
    )
    assert told.effects == ["0 judge flush c d (no wait) (dropped 2)", "2 judge flush e (no wait)"]


def test_an_end_takes_non_acts_alone_too() -> None:
    told = tell((0, push("log:a own:b")), (5, Ended("e1")), (5, SETTLE))
    assert told.effects == ["5 judge closing a b"]
