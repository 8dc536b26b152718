"""Reading what a judge's server answered. What cannot be read is an error: no route is ever guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from attend.core.types import Route
from attend.errors import JudgeError
from attend.judges.shape import is_array, is_object
from attend.judges.wire import Reply

_MODEL = re.compile(r"[A-Za-z0-9._/:~@+-]{1,100}")


class UnreadableError(Exception):
    """Raised where an answer is not of the form that was asked for. Its message holds nothing of the answer."""


def unreadable(who: str, error: UnreadableError, reply: Reply) -> JudgeError:
    """The judge's error for an answer that cannot be read."""
    return JudgeError(f"{who}: {error}", status=200, request_id=reply.request_id)


def table(value: Any, what: str) -> dict[str, Any]:
    """The value as an object."""
    if not is_object(value):
        raise UnreadableError(f"{what} is missing or no object")
    return value


def rows(value: Any, what: str) -> list[Any]:
    """The value as an array."""
    if not is_array(value):
        raise UnreadableError(f"{what} is missing or no array")
    return value


def route(value: Any, routes: Sequence[Route]) -> Route:
    """The route answered, if it was offered."""
    for offered in routes:
        if value == offered.value:
            return offered
    raise UnreadableError("its answer names no route that was offered")


def share(value: Any, what: str) -> float:
    """The value as a probability."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise UnreadableError(f"{what} is no number")
    # Providers round: a hair over 1 is 1.
    if not 0 <= value <= 1.01:
        raise UnreadableError(f"{what} is {value}, not from 0 to 1")
    return min(1.0, float(value))


def optional_share(value: Any, what: str) -> float | None:
    """The value as a probability, where there is one."""
    return None if value is None else share(value, what)


def probabilities(pairs: Iterable[tuple[Any, Any]], routes: Sequence[Route]) -> dict[str, float] | None:
    """The probabilities of the routes on offer, as they were given; None where there is none."""
    offered = {offered.value for offered in routes}
    found = {
        name: share(value, f"the probability of {name}")
        for name, value in pairs
        if isinstance(name, str) and name in offered
    }
    return found or None


def judged_by(who: str, model: Any, asked: str) -> str:
    """The name of who judged: the judge, and the model that says it answered or was asked."""
    named = model if isinstance(model, str) and _MODEL.fullmatch(model) else asked
    return f"{who}:{named}"
