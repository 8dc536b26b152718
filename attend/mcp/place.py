"""Where a source stands: what is committed, and what was read since."""

from __future__ import annotations

from typing import Any

from attend.source import Emit


class Place:
    """How far the source has been read, and what has been read since."""

    def __init__(self, cursor: str | None, emit: Emit) -> None:
        self.cursor = cursor
        self.commits = 0
        self._emit = emit
        self._events: list[dict[str, Any]] = []
        self._next = cursor
        self._gap = False

    @property
    def events(self) -> int:
        """How many have been read since the last commit."""
        return len(self._events)

    def add(self, event: dict[str, Any]) -> None:
        """An event was read."""
        self._events.append(event)

    def at(self, cursor: Any) -> None:
        """The server said where to go on, if it did."""
        if isinstance(cursor, str):
            self._next = cursor

    def lost(self) -> None:
        """The server lost events before what comes now."""
        self._gap = True

    async def commit(self) -> None:
        """All since the last time, and the cursor behind it, in one write; nothing where nothing changed."""
        if self._events or self._gap or self._next != self.cursor:
            await self._emit(self._events, self._next, gap=self._gap)
            self.commits += 1
        self._events, self._gap, self.cursor = [], False, self._next
