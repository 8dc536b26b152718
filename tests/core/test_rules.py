"""The settings that decide: their defaults, what is wrong with them, and a change of them."""

from __future__ import annotations

import pytest

from attend.core.input import RulesChanged
from attend.core.rules import Rules, window_budget
from tests.core.stories import RULES, SETTLE, push, tell, with_rules


def test_the_defaults_are_the_documented_ones() -> None:
    rules = Rules()
    assert (rules.closing_grace_ms, rules.stream_gap_ms, rules.passive_quiet_ms) == (500, 1000, 4000)
    assert (rules.wait_horizon_ms, rules.max_waits, rules.max_events, rules.max_window_ms) == (
        10_000,
        2,
        250,
        60_000,
    )
    assert (rules.retry_backoff_ms, rules.judge_timeout_ms) == ((1000, 4000, 16_000), 15_000)
    assert (rules.delivery_timeout_ms, rules.recent_count, rules.seen_count) == (10_000, 8, 500)
    assert (rules.max_outbox, rules.max_dead_letters, rules.dead_letter_backoff_max_ms) == (
        1000,
        1000,
        60_000,
    )
    assert (rules.max_window_bytes, rules.act_threshold) == (8 * 1024 * 1024, None)
    assert rules.problems() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seen_count": 249}, "seen_count (249) is below max_events (250)"),
        ({"max_events": 0}, "max_events is 0"),
        ({"closing_grace_ms": -1}, "closing_grace_ms is -1"),
        ({"act_threshold": 0.0}, "act_threshold is 0.0"),
        ({"act_threshold": 1.1}, "act_threshold is 1.1"),
        ({"retry_backoff_ms": (1000, -1)}, "retry_backoff_ms"),
        ({"judge_timeout_ms": 0}, "judge_timeout_ms is 0"),
    ],
)
def test_what_is_wrong_is_said_with_its_name(changes: dict[str, object], said: str) -> None:
    problems = with_rules(**changes).problems()
    assert len(problems) == 1
    assert said in problems[0]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert len(with_rules(max_waits=-1, seen_count=1, act_threshold=7.0).problems()) == 3


def test_an_act_threshold_of_1_is_right() -> None:
    assert with_rules(act_threshold=1.0).problems() == []


def test_the_window_budget_is_the_documented_formula() -> None:
    assert window_budget(32_000) == 44_928
    assert window_budget(262_144) == 390_144
    assert window_budget(10_000, reserved_tokens=0, window_share=0.25, bytes_per_token=4) == 10_000


def test_the_window_budget_stays_positive_for_a_tiny_judge() -> None:
    assert window_budget(100) > 0


def test_the_same_rules_have_the_same_digest_and_others_another() -> None:
    assert with_rules().digest == RULES.digest
    assert with_rules(max_waits=3).digest != RULES.digest


def test_a_scope_keeps_the_highest_generation_of_rules_it_has_seen() -> None:
    newer, older = with_rules(max_waits=5), with_rules(max_waits=6)
    told = tell((0, push("closing:a")), (1, RulesChanged(3, newer)))
    assert (told.state.generation, told.state.digest) == (3, newer.digest)
    again = tell((2, RulesChanged(2, older)), state=told.state)
    assert again.state == told.state


def test_new_rules_move_the_deadlines_of_what_is_open() -> None:
    slower = with_rules(closing_grace_ms=5000)
    told = tell((0, push("closing:a")), (1, RulesChanged(2, slower)))
    told = tell((500, SETTLE), (5000, SETTLE), state=told.state, rules=slower)
    assert told.effects == ["5000 judge closing a"]
