"""Scopes by name: apply inputs, look at a state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from attend.batch import Applied
from attend.clock import Clock
from attend.committer import Committer
from attend.core.input import Input
from attend.core.rules import Rules
from attend.core.state import ScopeState
from attend.draft import Claim
from attend.errors import StoreUnavailableError
from attend.link import Link
from attend.rulebook import RuleBook
from attend.store.base import ScopeStore
from attend.stored import Cache, Stored, restore
from attend.trace import Observer, guarded

__all__ = ["Applied", "Claim", "Engine"]


class Engine:
    """Applies inputs to scopes and commits what changed.

    `patience_ms` is how long a caller waits while the store is away before `StoreUnavailableError`; a patient
    one waits until it is cancelled. `max_states` and `max_state_bytes` bound the states kept in memory. `quiet_ms`
    is how long expired leases are let be after connecting; 2 s where it is left out, and none for a store in
    memory. One that does not `register` its rules leaves every scope to those it has: for tools that look at a
    store that others serve.
    """

    def __init__(
        self,
        store: ScopeStore,
        rules: Rules,
        clock: Clock,
        observe: Observer | None = None,
        *,
        patience_ms: int = 5000,
        quiet_ms: int | None = None,
        register: bool = True,
        max_states: int = 131_072,
        max_state_bytes: int = 512 * 1024 * 1024,
    ) -> None:
        self.store = store
        self.clock = clock
        self.observe = guarded(observe)
        self.book = RuleBook(store, rules)
        self.link = Link(store, clock, self.observe, quiet_ms=quiet_ms)
        self._patience_ms = patience_ms
        self._registers = register
        self._cache = Cache(max_states, max_state_bytes)
        self._committer = Committer(store, clock, self.book, self.link, self._cache, self.observe)
        self._started = False
        self._starting = asyncio.Lock()
        self._chores: set[asyncio.Future[None]] = set()
        if register:
            self.link.on_back.append(self._look_after_rules)
            self.link.on_measured.append(self._look_after_rules)

    async def start(self) -> None:
        """Open the store, set the clock by it, register the rules. Idempotent.

        Raises `StoreUnavailableError`; it may be called again.
        """
        async with self._starting:
            if self._started:
                return
            await self.store.open()
            if self._registers:
                await self.book.register()
            await self.link.start()
            self._committer.open()
            self._started = True

    async def close(self) -> None:
        """Stop. What still waits fails with `StoreUnavailableError`. The store is left open. Idempotent."""
        self._started = False
        await self._committer.close()
        await self.link.close()
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)

    async def apply(
        self, scope: str, inputs: Sequence[Input], *, claim: Claim | None = None, patient: bool = False
    ) -> Applied:
        """Apply inputs to one scope, in order and in one commit.

        Raises `ConflictError`, `StoreCorruptError` or `StateFormatError`, with nothing applied, or
        `StoreUnavailableError`, after which it may have been: applying the same inputs again settles that. With a
        claim conflicts are retried until the claim ends; a patient caller's conflicts, and its waits for the
        store, until it is cancelled.
        """
        result = (await self.apply_many({scope: inputs}, claim=claim, patient=patient))[scope]
        if isinstance(result, Exception):
            raise result
        return result

    async def apply_many(
        self, inputs: Mapping[str, Sequence[Input]], *, claim: Claim | None = None, patient: bool = False
    ) -> dict[str, Applied | Exception]:
        """Apply inputs to many scopes: each as `apply` does, its error returned in place of its result."""
        if not inputs:
            return {}
        batch = self._committer.submit(inputs, claim, patient=patient)
        if not patient:
            batch.expire(self._patience_ms, tuple(inputs), self._too_late)
        return await batch.wait()

    async def state(self, scope: str) -> ScopeState | None:
        """A scope's state as stored now, or None where none is. Raises as `apply` does."""
        stored = await self.stored(scope)
        return stored.state if stored.version and not stored.lost else None

    async def stored(self, scope: str) -> Stored:
        """A scope as stored now, with its version. Raises as `apply` does."""
        have = self._cache.get(scope)
        try:
            [loaded] = await self.store.load([(scope, "" if have is None else have.version)])
        except StoreUnavailableError as error:
            self.link.failed(error)
            raise
        self.link.ok()
        return await restore(scope, have, loaded, self.book)

    def _too_late(self) -> Exception:
        if self.link.is_up:
            return StoreUnavailableError(f"the store did not take it within {self._patience_ms} ms")
        return StoreUnavailableError(self.link.last_error)

    def _look_after_rules(self) -> None:
        chore = asyncio.ensure_future(self._register())
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    async def _register(self) -> None:
        # A server that came back empty, or was emptied, has forgotten the rules that stored states name.
        try:
            await self.book.register()
        except StoreUnavailableError as error:
            self.link.failed(error)
