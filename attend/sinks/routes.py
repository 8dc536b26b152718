"""A sink made of one handler per route."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from attend.core.types import Decision, Route

Handler = Callable[[Decision], Awaitable[object] | object]
"""Carries a decision out. Plain functions and async ones both do; a plain one must not block."""


class Routes:
    """Calls the handler of the decision's route."""

    def __init__(self, handlers: dict[Route, Handler]) -> None:
        self._handlers = handlers

    async def deliver(self, decision: Decision) -> None:
        """Call the handler and wait for it."""
        outcome = self._handlers[decision.route](decision)
        if inspect.isawaitable(outcome):
            await outcome


def routes(*, interrupt: Handler, queue: Handler, note: Handler, ask: Handler) -> Routes:
    """A sink with a handler for each of the four routes that are delivered; none can be left out."""
    return Routes({Route.INTERRUPT: interrupt, Route.QUEUE: queue, Route.NOTE: note, Route.ASK: ask})
