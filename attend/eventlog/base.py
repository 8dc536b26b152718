"""What a log of events is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from attend.core.event import NewEvent


class EventPage(Struct, frozen=True):
    """What a read found: events in the order they were appended, and the cursor behind them.

    `gap` when events between the cursor asked for and the first one here are gone, or that cursor never was in this
    log; it then goes on from the oldest event kept. `more` when the limit cut it.
    """

    events: tuple[NewEvent, ...]
    cursor: str
    gap: bool
    more: bool


class EventLog(Protocol):
    """Events of many scopes, each scope's in one order.

    Every method raises `StoreUnavailableError` where the log cannot be reached.
    """

    @property
    def can_block(self) -> bool:
        """Whether `read` waits for `block_ms`; one that cannot answers at once, and is asked again and again."""
        ...

    async def append(self, scope: str, events: Iterable[NewEvent | Mapping[str, Any]]) -> None:
        """Add events, all or none; returns once they are stored.

        One without an id or an `at` gets it here, so that whoever reads it twice knows it again. After a
        `StoreUnavailableError` they may have been added: append them again under the same ids, and attend takes the
        second ones for duplicates. Raises `EventError` for what cannot be taken, with nothing added.
        """
        ...

    async def read(self, scope: str, cursor: str | None, limit: int, block_ms: int = 0) -> EventPage:
        """Up to `limit` events after a cursor, or from the oldest kept on for None.

        With none there, it waits up to `block_ms` for one, if it can.
        """
        ...

    async def trim(self, scope: str, max_events: int, oldest_at: int = 0) -> int:
        """Delete the oldest events past `max_events`, or appended before `oldest_at`; returns how many."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
