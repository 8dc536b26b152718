"""The store in memory: the reference that the Redis store must agree with, and the library's default.

It belongs to one event loop and one process, and forgets everything when that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from attend.clock import Clock, SystemClock
from attend.core.types import Lane
from attend.store.base import Claimed, Loaded, Outcome, StoredWindow, Write
from attend.store.due_set import DueSet
from attend.store.memory_log import MemoryLog
from attend.store.memory_news import MemoryNews
from attend.store.memory_records import MemoryRecords
from attend.store.memory_subscriptions import MemorySubscriptions


class _Scope(Struct):
    """A scope as stored. `versions[i]` is the one that `tail[i]` made, `base` the one the snapshot was written at,
    `was` the one that the snapshot replaced."""

    version: str
    base: str
    was: str
    snapshot: bytes | None
    versions: list[str]
    tail: list[bytes]
    at: int


class MemoryStore:
    """Scopes, due instants and the log in plain Python. No method suspends between its checks and its writes."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._scopes: dict[str, _Scope] = {}
        self._due = {lane: DueSet() for lane in Lane}
        self._dead: dict[str, int] = {}
        self._tokens: set[Lane] = set()
        self._sleepers: dict[asyncio.Future[Lane | None], Sequence[Lane]] = {}
        self._rules: dict[str, bytes] = {}
        self._generation = 0
        self._digest = ""
        self._log = MemoryLog()
        self._news = MemoryNews()
        self._records = MemoryRecords(self._log)
        self._subscriptions = MemorySubscriptions()

    @property
    def log(self) -> MemoryLog:
        """The decision log that `commit` writes."""
        return self._log

    @property
    def news(self) -> MemoryNews:
        """The attention feed that `commit` writes."""
        return self._news

    @property
    def records(self) -> MemoryRecords:
        """What is on record beside the log."""
        return self._records

    @property
    def subscriptions(self) -> MemorySubscriptions:
        """Webhook subscriptions."""
        return self._subscriptions

    async def open(self) -> None:
        """Nothing to get ready."""

    async def close(self) -> None:
        """End every sleep; what is stored stays as long as this object."""
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)

    async def server_now(self) -> int:
        """The clock it was made with."""
        return self._clock.now()

    async def commit(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply a group of writes, at most one a scope."""
        wake: set[Lane] = set()
        outcomes = [self._commit(write, wake) for write in writes]
        for lane in wake:
            self._leave_token(lane)
        return outcomes

    def _commit(self, write: Write, wake: set[Lane]) -> Outcome:
        stored = self._scopes.get(write.scope)
        if stored is not None and (
            write.version in (stored.version, stored.base, stored.was) or write.version in stored.versions
        ):
            return Outcome.OK
        if write.restart or write.expected != ("" if stored is None else stored.version):
            return Outcome.CONFLICT
        if write.snapshot is not None:
            self._scopes[write.scope] = _Scope(
                write.version, write.version, write.expected, write.snapshot, [], [], write.at
            )
        elif write.entry is not None:
            stored = stored or _Scope("", "", "", None, [], [], write.at)
            stored.version = write.version
            stored.at = write.at
            stored.versions.append(write.version)
            stored.tail.append(write.entry)
            self._scopes[write.scope] = stored
        for lane, due_at in write.due.items():
            if self._set_due(lane, write.scope, due_at, write.at):
                wake.add(lane)
        if write.dead == 0:
            self._dead.pop(write.scope, None)
        elif write.dead is not None:
            self._dead[write.scope] = write.dead
        self._log.record(write.at, write.rows, write.keep, write.drop)
        self._news.write(write.at, write.news)
        return Outcome.OK

    def _set_due(self, lane: Lane, scope: str, due_at: int | None, now: int | None) -> bool:
        """Set or clear a due entry; whether a sleeper must hear of it: it has come, or is earlier than the head."""
        due = self._due[lane]
        if due_at is None:
            due.clear(scope)
            return False
        head = due.head()
        due.set(scope, due_at)
        return head is None or due_at < head or (now is not None and due_at <= now)

    async def load(self, scopes: Sequence[tuple[str, str]]) -> list[Loaded]:
        """Each scope, given with the version the caller has, as it is stored now."""
        return [self._load(scope, have) for scope, have in scopes]

    def _load(self, scope: str, have: str) -> Loaded:
        stored = self._scopes.get(scope)
        if stored is None:
            return Loaded(Outcome.OK)
        if have == stored.base:
            return Loaded(Outcome.OK, stored.version, None, tuple(stored.tail))
        if have in stored.versions:
            newer = stored.versions.index(have) + 1
            return Loaded(Outcome.OK, stored.version, None, tuple(stored.tail[newer:]))
        return Loaded(Outcome.OK, stored.version, stored.snapshot or b"", tuple(stored.tail))

    async def claim(self, lane: Lane, now: int, n: int, until: int) -> Claimed:
        """Take up to `n` due scopes, earliest first, moving each one's due to `until`."""
        due = self._due[lane]
        scopes = due.take(now, n, until)
        if n > 0 and len(scopes) == n:
            self._leave_token(lane)
        return Claimed(scopes, due.head())

    async def release(self, lane: Lane, scope: str, version: str, until: int, due_at: int | None) -> bool:
        """Hand a claim back without a commit, where neither the version nor the due changed since."""
        stored = self._scopes.get(scope)
        if self._due[lane].get(scope) != until or version != ("" if stored is None else stored.version):
            return False
        if self._set_due(lane, scope, due_at, None):
            self._leave_token(lane)
        return True

    async def sleep(self, lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        """Wait for a wake token on any of the lanes and take it; the longest sleeper gets it."""
        for lane in lanes:
            if lane in self._tokens:
                self._tokens.discard(lane)
                return lane
        sleeper: asyncio.Future[Lane | None] = asyncio.get_running_loop().create_future()
        self._sleepers[sleeper] = lanes
        try:
            await asyncio.wait({sleeper}, timeout=timeout_ms / 1000)
        except asyncio.CancelledError:
            if sleeper.done() and (taken := sleeper.result()) is not None:
                self._leave_token(taken)
            raise
        finally:
            self._sleepers.pop(sleeper, None)
        return sleeper.result() if sleeper.done() else None

    async def pass_on(self, lane: Lane) -> None:
        """Put a token back for another sleeper."""
        self._leave_token(lane)

    def _leave_token(self, lane: Lane) -> None:
        for sleeper, lanes in self._sleepers.items():
            if lane in lanes and not sleeper.done():
                sleeper.set_result(lane)
                return
        self._tokens.add(lane)

    async def window(self, window_id: str) -> StoredWindow | None:
        """A window by its id."""
        return self._log.window(window_id)

    async def register(self, digest: str, rules: bytes) -> int:
        """Keep rules by their digest and return their generation."""
        if digest != self._digest:
            self._generation += 1
            self._digest = digest
            self._rules[digest] = rules
        return self._generation

    async def rules(self, digest: str) -> bytes | None:
        """Rules by their digest."""
        return self._rules.get(digest)

    async def idle(self, before: int, limit: int) -> list[str]:
        """Up to `limit` scopes whose last commit was before an instant, oldest first."""
        found = sorted((stored.at, scope) for scope, stored in self._scopes.items() if stored.at < before)
        return [scope for _, scope in found[:limit]]

    async def dead(self, limit: int, skip: int = 0) -> list[str]:
        """Up to `limit` scopes that have dead letters, after the first `skip`: longest dead first."""
        found = sorted((at, scope.encode(), scope) for scope, at in self._dead.items())
        return [scope for _, _, scope in found[skip : skip + max(0, limit)]]

    async def remove(self, scope: str, version: str | None = None) -> bool:
        """Forget a scope, where its version still is the one given."""
        stored = self._scopes.get(scope)
        if version is not None and version != ("" if stored is None else stored.version):
            return False
        self._scopes.pop(scope, None)
        self._dead.pop(scope, None)
        for due in self._due.values():
            due.clear(scope)
        return True
