"""What is kept beside the decision log: who did what when, and who took which decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Entry(Struct, frozen=True):
    """A row for the record, made at an instant.

    With a `name` it is only added where no other of that name was added in the last `within_ms`.
    """

    row: bytes
    at: int
    name: str = ""
    within_ms: int = 0


class Record(Struct, frozen=True):
    """A row on record; `id` is where to read on from."""

    id: str
    row: bytes


class Records(Protocol):
    """Every method raises `StoreUnavailableError` when the store cannot be reached or cannot write now."""

    async def add(self, entries: Sequence[Entry], most: int) -> int:
        """Add rows in their order, letting go of the oldest past `most`; how many were added."""
        ...

    async def read(self, after: str, limit: int) -> list[Record]:
        """Up to `limit` rows after one's id, oldest first; "" is before the first."""
        ...

    async def acknowledge(self, decision_id: str, principal: str, at: int) -> int | None:
        """Keep that a principal took a decision, for as long as its row is kept.

        Returns when it first said so, or None where the log has no such decision any more.
        """
        ...

    async def acknowledged(self, decision_ids: Sequence[str]) -> list[bool]:
        """Of each decision whether anybody took it."""
        ...
