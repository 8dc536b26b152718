"""What a store is: the contract that `store.memory` and `store.redis` keep, and that anybody else's must.

Payloads are opaque bytes to a store. It never computes an instant or reads a clock to decide anything: every
instant is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from attend.core.types import Lane
from attend.store.decision_log import DecisionLog, LogRow, Page, Position
from attend.store.news_log import NewsLog, NewsRow
from attend.store.records import Records
from attend.store.subscriptions import Subscriptions

__all__ = [
    "Claimed",
    "DecisionLog",
    "Dropped",
    "Kept",
    "Loaded",
    "LogRow",
    "Outcome",
    "Page",
    "Position",
    "Row",
    "ScopeStore",
    "StoredWindow",
    "Write",
]


class Outcome(StrEnum):
    """How one scope's write ended."""

    OK = "ok"
    CONFLICT = "conflict"
    """The stored version is another; nothing of this write was written."""
    LOST = "lost"
    """The scope's snapshot and tail do not fit together; nothing was written. See `Write.restart`."""
    BAD = "bad"
    """A key of the scope holds another type; nothing was written."""


class Row(Struct, frozen=True, gc=False):
    """A decision to log: its row and its window, written once. `held` while an outbox refers to the window."""

    id: str
    summary: bytes
    window: bytes
    held: bool


class Kept(Struct, frozen=True):
    """The window of a dead letter, kept without a row."""

    id: str
    window: bytes


class Dropped(Struct, frozen=True):
    """A window that no lane of its scope refers to any more; `done` when it arrived, with what to keep of that."""

    id: str
    done: bool
    arrival: bytes = b""


class Write(Struct, frozen=True, gc=False, kw_only=True):
    """One scope's change: everything in it lands together or not at all.

    `expected` is the version it was made from, "" for a scope that is not stored; `version` the one it makes,
    `<n>-<nonce>` with n one more. Either `entry` is appended to the tail or `snapshot` replaces snapshot and
    tail. `due` has the lanes whose entry is to be set, or cleared with None; the others stay as they are. `dead`
    is when the scope's oldest dead letter died, 0 where it has none, and None where that stays as it is. `at` is
    the instant of the commit. With `restart` the write is for a scope found lost: it applies only while the
    scope still is, and replaces what is left of it.
    """

    scope: str
    expected: str
    version: str
    at: int
    entry: bytes | None = None
    snapshot: bytes | None = None
    due: Mapping[Lane, int | None] = {}
    dead: int | None = None
    rows: tuple[Row, ...] = ()
    keep: tuple[Kept, ...] = ()
    drop: tuple[Dropped, ...] = ()
    news: tuple[NewsRow, ...] = ()
    restart: bool = False

    def __post_init__(self) -> None:
        """Raises `ValueError` for a write that no store could keep; only a defect of the caller makes one."""
        n, dash, nonce = self.version.partition("-")
        if not (n.isdecimal() and dash and nonce.isalnum()):
            raise ValueError(f"version is {self.version!r}, it must be <n>-<nonce>")
        if (self.entry is None) == (self.snapshot is None):
            raise ValueError("a write has either an entry or a snapshot")
        if self.restart and self.snapshot is None:
            raise ValueError("a write that restarts a scope has a snapshot")
        if not self.restart and int(n) != int(self.expected.partition("-")[0] or 0) + 1:
            raise ValueError(f"version is {self.version!r}, it must count one up from {self.expected!r}")

    @property
    def size(self) -> int:
        """About how many bytes it carries."""
        size = 256 + len(self.entry or b"") + len(self.snapshot or b"")
        if self.rows or self.keep or self.news:  # Most have none of these.
            size += sum(len(row.summary) + len(row.window) for row in self.rows)
            size += sum(len(kept.window) for kept in self.keep)
            size += sum(2 * len(each.row) for each in self.news)
        return size


class Loaded(Struct, frozen=True):
    """A scope as stored, or what is newer than a version the caller has.

    `outcome` is `ok`, `lost` or `bad`. `version` is "" where nothing is stored. `snapshot` is None when `tail`
    carries on from the version the caller named (it may be empty, and "" is the empty scope); otherwise `tail`
    carries on from `snapshot`, which is b"" where that is the empty scope. Of a `lost` scope nothing but the
    version is given, where it is known.
    """

    outcome: Outcome
    version: str = ""
    snapshot: bytes | None = None
    tail: tuple[bytes, ...] = ()


class Claimed(Struct, frozen=True):
    """Scopes whose due instant has come, each moved to the claim's end, and when the next one is due."""

    scopes: tuple[str, ...]
    next_at: int | None


class StoredWindow(Struct, frozen=True):
    """A window as kept: `summary` is None for a dead letter's, `done` once it arrived, `arrival` what was kept of that."""

    window: bytes
    summary: bytes | None
    done: bool
    arrival: bytes = b""


class ScopeStore(Protocol):
    """Keeps scopes, their due instants and the decision log.

    Every method raises `StoreUnavailableError` when the store cannot be reached or cannot write now, in which
    case a write may or may not have been applied: sending the same `Write` again settles it, since a scope that
    already has the write's `version` in its history answers `ok`.
    """

    @property
    def log(self) -> DecisionLog:
        """The decision log that `commit` writes."""
        ...

    @property
    def news(self) -> NewsLog:
        """The attention feed that `commit` writes."""
        ...

    @property
    def records(self) -> Records:
        """What is on record beside the log: who did what, and who took which decision."""
        ...

    @property
    def subscriptions(self) -> Subscriptions:
        """Webhook subscriptions."""
        ...

    async def open(self) -> None:
        """Get ready: connect, check the server, load scripts. Idempotent."""
        ...

    async def close(self) -> None:
        """Let go of connections. Nothing stored is touched."""
        ...

    async def server_now(self) -> int:
        """The store's clock, in milliseconds: the one the fleet's clocks are measured against."""
        ...

    async def commit(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply a group of writes, at most one a scope; the outcomes are in the same order.

        A write applies only if its scope's stored version is the one it expects; of any number of writes made
        from one version exactly one is `ok`. A write sent again after its reply was lost is `ok` and is not
        applied twice. One scope's refusal does not touch the others. A row whose window was logged before is
        not logged again. Readers see rows in the order of commits. Sleeping lanes are woken where a due entry
        has come, or is the new head.
        """
        ...

    async def load(self, scopes: Sequence[tuple[str, str]]) -> list[Loaded]:
        """Each scope, given with the version the caller has ("" for none), as it is stored now."""
        ...

    async def claim(self, lane: Lane, now: int, n: int, until: int) -> Claimed:
        """Take up to `n` scopes due at `now` or before, earliest first, moving each one's due to `until`.

        No scope is claimed by two callers for overlapping times. Leaves a wake token when it returned `n`.
        """
        ...

    async def release(self, lane: Lane, scope: str, version: str, until: int, due_at: int | None) -> bool:
        """Hand a claim back without a commit: set the lane's due to `due_at`, or clear it.

        Only where the scope's version still is `version` and its due still is `until`; returns whether it was.
        """
        ...

    async def sleep(self, lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        """Wait for a wake token on any of the lanes and take it; None after the time. Wakes one sleeper a token."""
        ...

    async def pass_on(self, lane: Lane) -> None:
        """Put a token back for another sleeper, where none lies there."""
        ...

    async def window(self, window_id: str) -> StoredWindow | None:
        """A window by its id, or None if it was never kept or has been trimmed."""
        ...

    async def register(self, digest: str, rules: bytes) -> int:
        """Keep rules by their digest and return their generation.

        It is the highest one when that has this digest, and a new highest otherwise.
        """
        ...

    async def rules(self, digest: str) -> bytes | None:
        """Rules by their digest."""
        ...

    async def idle(self, before: int, limit: int) -> list[str]:
        """Up to `limit` scopes whose last commit was before an instant, oldest first."""
        ...

    async def dead(self, limit: int, skip: int = 0) -> list[str]:
        """Up to `limit` scopes that have dead letters, after the first `skip`: longest dead first."""
        ...

    async def remove(self, scope: str, version: str | None = None) -> bool:
        """Forget a scope: its state and its due entries. Its decisions stay in the log.

        With a version only where the stored one still is that; returns whether it was. Without one, what a push
        committed since is forgotten too.
        """
        ...
