"""Which threshold is suggested for a budget of interruptions."""

from __future__ import annotations

import pytest

from attend.core.types import Judgment
from attend.testing import suggest_threshold

HOUR = 3_600_000


def judgment(p: float, route: str = "queue") -> Judgment:
    """A judgment that acts with this probability, on two routes."""
    return Judgment(route, {"interrupt": p / 2, "ask": p / 2, "skip": 1 - p})


def test_the_smallest_threshold_within_the_budget() -> None:
    judgments = [judgment(p) for p in (0.2, 0.4, 0.6, 0.8, 0.8)]
    found = suggest_threshold(judgments, duration_ms=HOUR, max_acts_per_hour=3)
    assert found.threshold == pytest.approx(0.6)
    assert [round(one.threshold, 6) for one in found.candidates] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert [one.acts for one in found.candidates] == [5, 4, 3, 2, 0]
    half = suggest_threshold(judgments, duration_ms=HOUR // 2, max_acts_per_hour=3)
    assert half.threshold == pytest.approx(1.0)
    assert half.candidates[3].acts_per_hour == 4


def test_no_threshold_fits_where_certain_acts_alone_are_too_many() -> None:
    found = suggest_threshold([judgment(1.0)] * 5, duration_ms=HOUR, max_acts_per_hour=4)
    assert found.threshold is None
    assert [(one.threshold, one.acts) for one in found.candidates] == [(1.0, 5)]


def test_a_judgment_without_probabilities_counts_as_it_is() -> None:
    judgments = [Judgment("interrupt"), Judgment("queue"), Judgment("ask", {}), judgment(0.5)]
    found = suggest_threshold(judgments, duration_ms=HOUR, max_acts_per_hour=2)
    assert [one.acts for one in found.candidates] == [3, 2]
    assert found.threshold == 1.0
    assert suggest_threshold(judgments, duration_ms=HOUR, max_acts_per_hour=1).threshold is None


def test_nothing_judged_fits_any_budget() -> None:
    assert suggest_threshold([], duration_ms=HOUR, max_acts_per_hour=0).threshold == 1.0


def test_probabilities_are_taken_as_shares() -> None:
    found = suggest_threshold(
        [Judgment("queue", {"interrupt": 2, "skip": 2})], duration_ms=HOUR, max_acts_per_hour=9
    )
    assert found.threshold == 0.5


@pytest.mark.parametrize(("duration_ms", "budget"), [(0, 1.0), (-1, 1.0), (HOUR, -0.1)])
def test_what_makes_no_sense_is_refused(duration_ms: int, budget: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        suggest_threshold([], duration_ms=duration_ms, max_acts_per_hour=budget)
