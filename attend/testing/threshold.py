"""Which act threshold keeps interruptions within a budget, by judgments that were recorded."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from attend.core.threshold import ACTING
from attend.core.types import Judgment

HOUR_MS = 3_600_000


class Candidate(Struct, frozen=True):
    """A threshold, how many of the judgments would have acted under it, and what that comes to in an hour."""

    threshold: float
    acts: int
    acts_per_hour: float


class Suggestion(Struct, frozen=True):
    """The smallest threshold within the budget, or None where none is; and every candidate, smallest first."""

    threshold: float | None
    candidates: tuple[Candidate, ...]


def p_act(judgment: Judgment) -> float | None:
    """p(interrupt) + p(ask) as shares of all; None where there are no probabilities to go by."""
    total = sum((judgment.probabilities or {}).values())
    if not judgment.probabilities or total <= 0:
        return None
    return sum(judgment.probabilities.get(route, 0.0) for route in ACTING) / total


def suggest_threshold(
    judgments: Iterable[Judgment], *, duration_ms: int, max_acts_per_hour: float
) -> Suggestion:
    """The smallest act threshold under which judgments of `duration_ms` milliseconds act often enough and no more.

    Judgments must have been made with the threshold off. One without probabilities is never changed by a
    threshold, so where its route acts it counts under each. Raises `ValueError` for a duration or a budget that
    makes no sense.
    """
    if duration_ms <= 0:
        raise ValueError(f"duration_ms is {duration_ms}, it must be above 0")
    if max_acts_per_hour < 0:
        raise ValueError(f"max_acts_per_hour is {max_acts_per_hour}, it must be 0 or more")
    shares: list[float] = []
    always = 0
    for judgment in judgments:
        share = p_act(judgment)
        if share is None:
            always += judgment.route in ACTING
        else:
            shares.append(min(share, 1.0))
    hours = duration_ms / HOUR_MS
    candidates: list[Candidate] = []
    # Between two shares nothing changes, so the shares themselves are all the thresholds there are; and 1, under
    # which nothing short of certainty acts.
    for threshold in sorted({share for share in shares if share > 0} | {1.0}):
        # Rounded as `thresholded` does it.
        acts = always + sum(share >= threshold - 1e-12 for share in shares)
        candidates.append(Candidate(threshold, acts, acts / hours))
    fitting = (one.threshold for one in candidates if one.acts_per_hour <= max_acts_per_hour)
    return Suggestion(next(fitting, None), tuple(candidates))
