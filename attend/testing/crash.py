"""A store that can die at any commit, as a process dies: just before it, just after it, or with the reply lost."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from attend.core.types import Lane
from attend.errors import StoreUnavailableError
from attend.store.base import Claimed, DecisionLog, Loaded, Outcome, ScopeStore, StoredWindow, Write
from attend.store.news_log import NewsLog
from attend.store.records import Records
from attend.store.subscriptions import Subscriptions


class Crash(StrEnum):
    """What happens at the chosen commit."""

    BEFORE = "before"
    AFTER = "after"
    REPLY_LOST = "with the reply lost at"
    """It is applied, the process lives on and is told that the store was away."""


class CrashingStore:
    """Another store, seen by one process that crashes at its `at`-th commit, counted from 1.

    Once `gone`, nothing it is asked reaches the other store: the process that has it is gone.
    """

    def __init__(self, store: ScopeStore, at: int | None = None, crash: Crash = Crash.BEFORE) -> None:
        self._store = store
        self._at = at
        self._crash = crash
        self.commits = 0
        self.gone = False

    @property
    def log(self) -> DecisionLog:
        """The other store's log."""
        return self._store.log

    @property
    def news(self) -> NewsLog:
        """The other store's attention feed."""
        return self._store.news

    @property
    def records(self) -> Records:
        """The other store's records."""
        return self._store.records

    @property
    def subscriptions(self) -> Subscriptions:
        """The other store's webhook subscriptions."""
        return self._store.subscriptions

    async def open(self) -> None:
        """The other store is open already."""

    async def close(self) -> None:
        """The other store stays open."""

    async def server_now(self) -> int:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.server_now()

    async def commit(self, writes: Sequence[Write]) -> list[Outcome]:
        """See `ScopeStore`; the chosen call of this crashes."""
        self._alive()
        self.commits += 1
        if self.commits != self._at:
            return await self._store.commit(writes)
        if self._crash is not Crash.BEFORE:
            await self._store.commit(writes)
        self.gone = self._crash is not Crash.REPLY_LOST
        raise StoreUnavailableError(f"crashed {self._crash} commit {self._at}")

    async def load(self, scopes: Sequence[tuple[str, str]]) -> list[Loaded]:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.load(scopes)

    async def claim(self, lane: Lane, now: int, n: int, until: int) -> Claimed:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.claim(lane, now, n, until)

    async def release(self, lane: Lane, scope: str, version: str, until: int, due_at: int | None) -> bool:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.release(lane, scope, version, until, due_at)

    async def sleep(self, lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.sleep(lanes, timeout_ms)

    async def pass_on(self, lane: Lane) -> None:
        """See `ScopeStore`."""
        self._alive()
        await self._store.pass_on(lane)

    async def window(self, window_id: str) -> StoredWindow | None:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.window(window_id)

    async def register(self, digest: str, rules: bytes) -> int:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.register(digest, rules)

    async def rules(self, digest: str) -> bytes | None:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.rules(digest)

    async def idle(self, before: int, limit: int) -> list[str]:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.idle(before, limit)

    async def dead(self, limit: int, skip: int = 0) -> list[str]:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.dead(limit, skip)

    async def remove(self, scope: str, version: str | None = None) -> bool:
        """See `ScopeStore`."""
        self._alive()
        return await self._store.remove(scope, version)

    def _alive(self) -> None:
        if self.gone:
            raise StoreUnavailableError("this process is gone")
