"""A judge that stays down: its windows are dead letters, or are decided by rule and say so."""

from __future__ import annotations

from attend.core.effect import Log
from attend.core.rules import OnJudgeDown
from tests.core.stories import SETTLE, Line, Told, failed, judged, lost, push, tell, with_rules

RULE = with_rules(on_judge_down=OnJudgeDown.RULE)
CALLED: list[Line] = [(0, push("flush:a")), (0, SETTLE)]
LADDER: list[Line] = [(0, failed()), (1000, SETTLE), (1000, failed()), (5000, SETTLE), (5000, failed())]


def decision(told: Told) -> Log:
    """The last decision that was logged."""
    return [one for one in told.raw if isinstance(one, Log)][-1]


def test_after_the_last_try_the_window_is_decided_by_rule_and_says_so() -> None:
    told = tell(*CALLED, *LADDER, (21_000, SETTLE), (21_000, failed("no answer")), rules=RULE)
    assert told.effects[-1] == "21000 log interrupt a (held) (degraded)"
    assert "21000 by rule after 4: no answer" in told.traces
    made = decision(told).decision
    assert (made.judge, made.starts, made.probabilities) == ("rule", 4, None)
    assert (told.state.slot, told.state.dead) == (None, ())
    assert [one.route for one in told.state.recent] == ["interrupt"]


def test_only_a_flush_interrupts() -> None:
    told = tell(
        (0, push("closing:a")), (500, SETTLE), (500, failed("no key", permanent=True, down=True)), rules=RULE
    )
    assert told.effects[-1] == "500 log queue a (held) (degraded)"


def test_by_default_it_is_a_dead_letter() -> None:
    told = tell(*CALLED, *LADDER, (21_000, SETTLE), (21_000, failed()))
    assert told.effects[-1] == "21000 keep a"
    told = tell(*CALLED, (0, failed(permanent=True, down=True)))
    assert told.effects[-1] == "0 keep a"


def test_while_tries_are_left_they_are_made() -> None:
    told = tell(*CALLED, (0, failed()), rules=RULE)
    assert told.due.settle == 1000
    told = tell(*CALLED, (0, failed()), (1000, SETTLE), (1001, judged("note")), rules=RULE)
    assert told.effects[-1] == "1001 log note a (held)"


def test_a_judge_that_cannot_be_asked_at_all_is_down_at_once() -> None:
    told = tell(*CALLED, (10, failed("wrong key", permanent=True, down=True)), rules=RULE)
    assert told.effects[-1] == "10 log interrupt a (held) (degraded)"


def test_a_refusal_of_this_window_stays_a_dead_letter() -> None:
    told = tell(*CALLED, (10, failed("refused", permanent=True)), rules=RULE)
    assert told.effects[-1] == "10 keep a"
    assert told.traces[-1] == "10 dead judge after 1: refused"


def test_a_window_that_cost_four_workers_stays_a_dead_letter() -> None:
    lines: list[Line] = [(0, push("flush:a"))]
    for n in range(4):
        lines += [(n * 100_000, SETTLE), (n * 100_000 + 1, lost())]
    told = tell(*lines, rules=RULE)
    assert told.effects[-1] == "300001 keep a"


def test_a_wait_longer_than_all_tries_that_are_left_counts_as_down() -> None:
    told = tell(*CALLED, (0, failed(retry_after_ms=21_000)), rules=RULE)
    assert told.due.settle == 21_000
    told = tell(*CALLED, (0, failed(retry_after_ms=21_001)), rules=RULE)
    assert told.effects[-1] == "0 log interrupt a (held) (degraded)"
    told = tell(*CALLED, (0, failed(retry_after_ms=21_001)))
    assert told.due.settle == 21_001


def test_answers_that_cannot_be_taken_are_failures_like_others() -> None:
    lines: list[Line] = []
    for at in (0, 1000, 5000, 21_000):
        lines += [(at, SETTLE), (at, judged("page"))]
    told = tell((0, push("flush:a")), *lines, rules=RULE)
    assert told.effects[-1] == "21000 log interrupt a (held) (degraded)"


def test_without_a_ladder_the_first_failure_is_the_last() -> None:
    told = tell(*CALLED, (5, failed()), rules=with_rules(on_judge_down=OnJudgeDown.RULE, retry_backoff_ms=()))
    assert told.effects[-1] == "5 log interrupt a (held) (degraded)"


def test_a_threshold_leaves_it_alone() -> None:
    rules = with_rules(on_judge_down=OnJudgeDown.RULE, act_threshold=0.9)
    told = tell(*CALLED, (0, failed(permanent=True, down=True)), rules=rules)
    assert told.effects[-1] == "0 log interrupt a (held) (degraded)"
