"""What the decision log of a store is. See `attend.store.base`, which has its names too."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Position(Struct, frozen=True, order=True):
    """A place in the log: just after row `n`, whose stream id is `id`. `Position(epoch)` is before the first.

    An id of "0-0" is tied to no row: reading goes on from `n` alone.
    """

    epoch: str
    n: int = 0
    id: str = "0-0"


class LogRow(Struct, frozen=True):
    """A row of the log with its position."""

    position: Position
    summary: bytes


class Page(Struct, frozen=True):
    """What a read of the log found.

    `rows` are in order with no row between them left out. `position` is where to read on from, also when `rows`
    is empty. `truncated` when rows between the position asked for and the first one here are gone, or when that
    position never was in this log; reading then goes on from the oldest row kept. `more` when the limit cut it.
    """

    rows: tuple[LogRow, ...]
    position: Position
    truncated: bool
    more: bool


class DecisionLog(Protocol):
    """The log: every decision once, in the order of their commits, with a dense counter from 1."""

    async def end(self) -> Position:
        """The position after the newest row: what "from now on" means."""
        ...

    async def start(self) -> Position:
        """The position before the oldest row kept."""
        ...

    async def read(self, after: Position, limit: int) -> Page:
        """Up to `limit` rows after a position, oldest first. Never silently skips: see `Page.truncated`."""
        ...

    async def wait(self, after: Position, timeout_ms: int) -> bool:
        """Whether there is something to read: a row after the position, or that it no longer fits the log.

        Returns once there is, and within the time otherwise; may return early, with False.
        """
        ...

    async def find(self, decision_id: str) -> Position | None:
        """Where a decision's row is, or was before it was trimmed; None if it was never logged or is forgotten."""
        ...

    async def before(self, at: int) -> Position:
        """The position that the rows logged at or after an instant come after, by the store's clock."""
        ...

    async def secret(self) -> bytes:
        """What cursors are sealed with: random, and the same to every process for as long as the epoch is."""
        ...

    async def trim(self, max_rows: int, oldest_at: int, limit: int = 1000) -> int:
        """Delete the oldest rows past `max_rows`, or logged before `oldest_at`, with windows no lane refers to.

        Up to `limit` rows a call; returns how many. A window that a lane still refers to goes with the commit that
        drops it.
        """
        ...
