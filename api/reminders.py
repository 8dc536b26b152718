"""Interrupts that nobody took: each comes up again after a while, and again, until somebody does."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from attend.app import Attend
from attend.core.types import Route, Summary
from attend.feed import Filter

_EARLIER_MS = 60_000
"""How much further back the log is read at first: a decision is logged a little after it was made."""

_INTERRUPTS = Filter(routes=frozenset({Route.INTERRUPT}))


class Reminder(Struct, frozen=True):
    """A decision that comes up again, when, and for which time."""

    at: int
    number: int
    decision: Summary


class Reminders:
    """Follows the log of one app, as far as it is asked. `after_ms` and `times` say when an interrupt comes up again."""

    def __init__(self, app: Attend, after_ms: int, times: int) -> None:
        self._app = app
        self._after_ms = after_ms
        self._times = times
        self._open: dict[str, Summary] = {}
        self._cursor: str | None = None
        self._following = asyncio.Lock()

    async def due(self, after: int, now: int, filter: Filter) -> tuple[list[Reminder], int | None]:
        """What comes up again after one instant up to another for a reader, earliest first, and when the next may.

        A decision that came up several times meanwhile is there once, for the last of them. Raises
        `StoreUnavailableError`.
        """
        await self._follow(now)
        found: list[Reminder] = []
        next_at: int | None = None
        for decision in self._open.values():
            if not filter.lets(decision):
                continue
            number = min((now - decision.decided_at) // self._after_ms, self._times)
            at = decision.decided_at + number * self._after_ms
            if number >= 1 and at > after:
                found.append(Reminder(at, number, decision))
            elif number < self._times:
                coming = decision.decided_at + (max(number, 0) + 1) * self._after_ms
                next_at = coming if next_at is None else min(next_at, coming)
        found.sort(key=lambda each: (each.at, each.decision.id))
        taken = await self._app.store.records.acknowledged([each.decision.id for each in found])
        for each, is_taken in zip(found, taken, strict=True):
            if is_taken:
                self._open.pop(each.decision.id, None)
        return [each for each, is_taken in zip(found, taken, strict=True) if not is_taken], next_at

    async def _follow(self, now: int) -> None:
        """Learn of the interrupts since, and forget those that will not come up any more."""
        async with self._following:
            oldest = now - self._after_ms * (self._times + 1)
            cursor = self._cursor or await self._app.feed.before(oldest - _EARLIER_MS)
            follow = self._cursor is not None
            while True:
                batch = await self._app.feed.read(cursor, _INTERRUPTS, follow=follow)
                self._open.update((decision.id, decision) for decision in batch.decisions)
                cursor = self._cursor = batch.cursor
                if not batch.more:
                    break
            self._open = {
                id: decision for id, decision in self._open.items() if decision.decided_at >= oldest
            }
