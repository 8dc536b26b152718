"""The act threshold: rule 18 of behaviour."""

from __future__ import annotations

import pytest

from attend.core.threshold import normalised, thresholded
from attend.core.types import Route

ALL = tuple(Route)
NO_WAIT = tuple(route for route in Route if route is not Route.WAIT)
INTERRUPT, QUEUE, NOTE, ASK, SKIP, WAIT = Route


@pytest.mark.parametrize(
    ("judged", "probabilities", "threshold", "offered", "expected"),
    [
        # It reaches the threshold: the likelier acting route, whatever the judge said.
        (QUEUE, {"interrupt": 0.3, "ask": 0.2, "queue": 0.5}, 0.5, ALL, INTERRUPT),
        (QUEUE, {"interrupt": 0.2, "ask": 0.3, "queue": 0.5}, 0.5, ALL, ASK),
        # Exactly at it counts as reaching it.
        (QUEUE, {"interrupt": 0.1, "ask": 0.2, "queue": 0.7}, 0.3, ALL, ASK),
        (QUEUE, {"interrupt": 0.7, "ask": 0.1, "queue": 0.2}, 0.8, ALL, INTERRUPT),
        (SKIP, {"interrupt": 1.0}, 1.0, ALL, INTERRUPT),
        # It does not: the likeliest quiet route.
        (INTERRUPT, {"interrupt": 0.49, "note": 0.3, "skip": 0.21}, 0.5, ALL, NOTE),
        (ASK, {"ask": 0.4, "wait": 0.35, "skip": 0.25}, 0.5, ALL, WAIT),
        # wait is taken only where it is offered.
        (ASK, {"ask": 0.4, "wait": 0.35, "skip": 0.25}, 0.5, NO_WAIT, SKIP),
        # The judge's own route stands where it fits, and wins a tie.
        (QUEUE, {"queue": 0.6, "interrupt": 0.4}, 0.5, ALL, QUEUE),
        (NOTE, {"note": 0.4, "queue": 0.4, "ask": 0.2}, 0.5, ALL, NOTE),
        (ASK, {"ask": 0.4, "interrupt": 0.4, "skip": 0.2}, 0.5, ALL, ASK),
        # Without a threshold, or probabilities, nothing changes.
        (QUEUE, {"interrupt": 1.0}, None, ALL, QUEUE),
        (QUEUE, None, 0.1, ALL, QUEUE),
    ],
)
def test_the_route_acts_exactly_when_the_acting_share_reaches_the_threshold(
    judged: Route,
    probabilities: dict[str, float] | None,
    threshold: float | None,
    offered: tuple[Route, ...],
    expected: Route,
) -> None:
    assert thresholded(judged, probabilities, offered, threshold) is expected


def test_probabilities_are_shares_of_the_routes_on_offer() -> None:
    shares = normalised({"queue": 3.0, "note": 1.0, "made up": 5.0, "wait": 4.0}, NO_WAIT)
    assert shares is not None
    assert set(shares) == {route.value for route in NO_WAIT}
    assert (shares["queue"], shares["note"], shares["ask"]) == (0.75, 0.25, 0.0)


@pytest.mark.parametrize("nothing", [None, {}, {"queue": 0.0}, {"made up": 1.0}])
def test_where_there_are_no_shares_to_go_by_there_are_none(nothing: dict[str, float] | None) -> None:
    assert normalised(nothing, ALL) is None
