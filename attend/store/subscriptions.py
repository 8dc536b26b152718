"""What is kept of webhook subscriptions: each as opaque bytes under a version, and when it is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Kept(Struct, frozen=True):
    """A subscription as stored."""

    version: str
    record: bytes


class Due(Struct, frozen=True):
    """Subscriptions that were due, now claimed, and when the next one is."""

    ids: tuple[str, ...]
    next_at: int | None


class Wants(Struct, frozen=True):
    """What each subscription wants of the log, by its id; `n` is another number once any of it changed."""

    n: int
    wants: Mapping[str, bytes]


class Change(Struct, frozen=True, kw_only=True):
    """One subscription's change, which applies only where the stored version is `expected`, "" for none.

    `version` is the one it makes: no other change has the same. `wants` is b"" where it stays as it is. Its due
    instant becomes `due_at`, None for never, unless `due` says to leave it. An `idle` one waits for news: it is due
    at `at` where there was some since it was claimed.
    """

    id: str
    expected: str
    version: str
    record: bytes
    owner: str
    at: int
    wants: bytes = b""
    due: bool = True
    due_at: int | None = None
    idle: bool = False


class Outcome(StrEnum):
    """How a change ended. Nothing was written unless it is `ok`."""

    OK = "ok"
    CONFLICT = "conflict"
    EACH = "each"
    """The owner has as many as one may have."""
    TOTAL = "total"
    """There are as many as there may be."""


class Subscriptions(Protocol):
    """Every method raises `StoreUnavailableError` when the store cannot be reached or cannot write now."""

    async def get(self, id: str) -> Kept | None:
        """One of them."""
        ...

    async def put(self, change: Change, each: int, total: int) -> Outcome:
        """Apply a change, a new one within the bounds only. Sent again after a lost reply it is `ok` again."""
        ...

    async def drop(self, id: str, expected: str, owner: str) -> bool:
        """Forget one, where its version is the one given; whether it was."""
        ...

    async def claim(self, now: int, n: int, until: int) -> Due:
        """Take up to `n` that are due at `now`, earliest first, moving each one's due to `until`."""
        ...

    async def rouse(self, ids: Sequence[str], now: int) -> None:
        """Make due now those of them that are idle; the others will be once they become so."""
        ...

    async def wants(self, n: int) -> Wants | None:
        """What all of them want, or None where it still has the number `n`."""
        ...

    async def verified(self, name: str, now: int) -> bool:
        """Whether a name was kept as verified."""
        ...

    async def verify(self, name: str, now: int, for_ms: int) -> None:
        """Keep a name as verified for a while."""
        ...
