"""The act threshold: the app's word on what an interruption costs, over the judge's probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attend.core.types import Route

ACTING = (Route.INTERRUPT, Route.ASK)


def normalised(
    probabilities: Mapping[str, float] | None, offered: Sequence[Route]
) -> dict[str, float] | None:
    """Probabilities over the routes offered, summing to 1; None where there are none to go by."""
    if not probabilities:
        return None
    kept = {route.value: probabilities.get(route.value, 0.0) for route in offered}
    total = sum(kept.values())
    return {name: value / total for name, value in kept.items()} if total > 0 else None


def thresholded(
    route: Route, probabilities: Mapping[str, float] | None, offered: Sequence[Route], threshold: float | None
) -> Route:
    """The route once the threshold has had its say.

    It is an acting one (`interrupt` or `ask`, the likelier) exactly when p(interrupt) + p(ask) reaches the
    threshold, and else the likeliest quiet one. Ties go to the judge's own route. Without a threshold or
    probabilities the judge's route stands.
    """
    if threshold is None or probabilities is None:
        return route
    # The sum of two shares of 1 can miss a threshold it equals by one rounding.
    acts = sum(probabilities.get(acting, 0.0) for acting in ACTING) >= threshold - 1e-12
    choices = [choice for choice in offered if (choice in ACTING) == acts]
    if not choices:
        return route
    return max(choices, key=lambda choice: (probabilities.get(choice, 0.0), choice is route))
