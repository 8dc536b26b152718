"""What the attention feed of a store is: a log of news, and the conditions that are open."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from attend.store.decision_log import Page, Position

MAX_OPEN = 10_000
"""How many conditions are open at most; one more is news all the same, and is not kept as open."""


class NewsRow(Struct, frozen=True):
    """A piece of news to write. `change` says what it does to its `condition`: "opens", "resolves", or nothing.

    One that opens a condition which is open, or resolves one which is not, is not written.
    """

    row: bytes
    condition: str = ""
    change: str | None = None


class NewsLog(Protocol):
    """The feed: every piece of news once, in the order of their commits, with a dense counter from 1.

    Every method raises `StoreUnavailableError` when the store cannot be reached.
    """

    async def end(self) -> Position:
        """The position after the newest row."""
        ...

    async def start(self) -> Position:
        """The position before the oldest row kept."""
        ...

    async def read(self, after: Position, limit: int) -> Page:
        """Up to `limit` rows after a position, oldest first, as a `DecisionLog` gives them."""
        ...

    async def wait(self, after: Position, timeout_ms: int) -> bool:
        """Whether there is something to read after the position, now or within the time."""
        ...

    async def secret(self) -> bytes:
        """What cursors are sealed with."""
        ...

    async def trim(self, max_rows: int, oldest_at: int, limit: int = 1000) -> int:
        """Delete the oldest rows past `max_rows`, or written before `oldest_at`; returns how many, `limit` at most."""
        ...

    async def conditions(self) -> list[bytes]:
        """The row of each condition that is open, the longest open first."""
        ...

    async def expire(self, oldest_at: int) -> int:
        """Let go of conditions opened before an instant, which nobody resolved; returns how many."""
        ...
