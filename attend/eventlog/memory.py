"""A log of events in this process: for tests, and for producers that live in it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from attend.core.event import NewEvent
from attend.errors import ConfigError
from attend.eventlog.base import EventPage
from attend.eventlog.positioned import RETAIN, entries_of, read_page, trim_all
from attend.store.base import Row
from attend.store.memory_log import MemoryLog


class MemoryEventLog:
    """See `memory_log`."""

    def __init__(self, retain: int) -> None:
        if retain < 1:
            raise ConfigError(f"retain is {retain}, it must be 1 or more")
        self._retain = retain
        self._logs: dict[str, MemoryLog] = {}
        self._appended = 0

    @property
    def can_block(self) -> bool:
        """It can."""
        return True

    async def append(self, scope: str, events: Iterable[NewEvent | Mapping[str, Any]]) -> None:
        """Add events, all or none."""
        rows: list[Row] = []
        for entry in entries_of(scope, events):
            self._appended += 1
            rows.append(Row(str(self._appended), entry, b"", False))
        self._log(scope).record(int(time.time() * 1000), tuple(rows), (), ())
        await self.trim(scope, self._retain)

    async def read(self, scope: str, cursor: str | None, limit: int, block_ms: int = 0) -> EventPage:
        """Up to `limit` events after a cursor."""
        return await read_page(self._log(scope), cursor, limit, block_ms)

    async def trim(self, scope: str, max_events: int, oldest_at: int = 0) -> int:
        """Delete the oldest events past a count or an age."""
        return await trim_all(self._log(scope), max_events, oldest_at)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _log(self, scope: str) -> MemoryLog:
        return self._logs.setdefault(scope, MemoryLog())


def memory_log(*, retain: int = RETAIN) -> MemoryEventLog:
    """A log in memory that keeps the newest `retain` events of each scope. It belongs to one event loop.

    Raises `ConfigError`.
    """
    return MemoryEventLog(retain)
