"""Load, step, commit: the one loop that changes scopes.

Whatever is submitted while commits are under way waits together: one write a scope, many scopes a commit. When
nothing is under way a submission goes out at once.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from attend.batch import Applied, Batch, Waiting
from attend.clock import Clock
from attend.core.input import Input
from attend.draft import Claim, Draft
from attend.errors import ConflictError, StoreCorruptError, StoreUnavailableError
from attend.link import Link
from attend.rulebook import RuleBook
from attend.store.base import Outcome, ScopeStore
from attend.stored import Cache, Stored, restore
from attend.trace import CommitConflicted, Observer

GROUP_BYTES = 1024 * 1024
"""What one commit carries at most, unless one write alone is more."""

GROUP_SCOPES = 128
GROUPS_IN_FLIGHT = 2
"""One is on its way while the next is made ready; with more, groups would only be smaller."""

MAX_CONFLICTS = 8
LONGEST_JITTER_MS = 50
LONGEST_BACKOFF_MS = 1000

T = TypeVar("T")


class _Job:
    """One scope's part of a commit."""

    __slots__ = ("draft", "scope", "waiting")

    def __init__(self, scope: str, draft: Draft, waiting: Sequence[Waiting]) -> None:
        self.scope = scope
        self.draft = draft
        self.waiting = waiting


class Committer:
    """Takes submissions, gives each its result."""

    def __init__(
        self, store: ScopeStore, clock: Clock, book: RuleBook, link: Link, cache: Cache, observe: Observer
    ) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._link = link
        self._cache = cache
        self._observe = observe
        self._pending: dict[str, list[Waiting]] = {}
        self._ready: dict[str, None] = {}
        self._busy: set[str] = set()
        self._stale: set[str] = set()
        self._groups: set[asyncio.Task[None]] = set()
        self._pumping = False
        self._open = False
        self._nonce = secrets.token_hex(4)
        self._nonces = 0

    def open(self) -> None:
        """Start taking submissions."""
        self._open = True

    async def close(self) -> None:
        """Stop. What is still waiting fails with `StoreUnavailableError`."""
        self._open = False
        groups = list(self._groups)
        for group in groups:
            group.cancel()
        await asyncio.gather(*groups, return_exceptions=True)
        for waiting in self._pending.values():
            _fail(waiting, StoreUnavailableError("attend is closed"))
        self._pending.clear()
        self._ready.clear()
        self._busy.clear()

    def submit(self, inputs: Mapping[str, Sequence[Input]], claim: Claim | None, *, patient: bool) -> Batch:
        """Inputs for any number of scopes; a patient one's conflicts are retried for as long as it takes.

        Raises `StoreUnavailableError` while not open."""
        if not self._open:
            raise StoreUnavailableError("attend is not started, or closed already")
        batch = Batch(len(inputs))
        for scope, given in inputs.items():
            waiting = Waiting(scope, given, claim, batch, patient)
            queue = self._pending.get(scope)
            if queue is None:
                self._pending[scope] = [waiting]
                if scope not in self._busy:
                    self._ready[scope] = None
            else:
                queue.append(waiting)
        self._pump_soon()
        return batch

    def _pump_soon(self) -> None:
        # In the loop's next round, so that all that is submitted in this one goes along.
        if not self._pumping:
            self._pumping = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        while self._open and self._ready and len(self._groups) < GROUPS_IN_FLIGHT:
            scopes = [scope for scope, _ in zip(self._ready, range(GROUP_SCOPES), strict=False)]
            for scope in scopes:
                del self._ready[scope]
            self._busy.update(scopes)
            group = asyncio.get_running_loop().create_task(self._run(scopes))
            self._groups.add(group)
            group.add_done_callback(self._ended)

    def _ended(self, group: asyncio.Task[None]) -> None:
        self._groups.discard(group)
        self._pump()

    def _free(self, scopes: Iterable[str]) -> None:
        for scope in scopes:
            self._busy.discard(scope)
            alive = [each for each in self._pending.pop(scope, ()) if not each.batch.done]
            if alive:
                self._pending[scope] = alive
                self._ready[scope] = None

    def _resume(self, scope: str) -> None:
        self._free((scope,))
        self._pump_soon()

    async def _run(self, scopes: Sequence[str]) -> None:
        """One group of scopes, from what is stored to what will be."""
        backing_off: dict[str, float] = {}
        jobs: list[_Job] = []
        size = 0
        try:
            bases, cached = await self._bases(scopes)
            for scope, base in bases.items():
                job = self._draft(scope, base, cached=scope in cached)
                if job is None or job.draft.write is None:
                    continue
                full, size = jobs, size + job.draft.write.size
                if full and size > GROUP_BYTES:
                    jobs, size = [job], job.draft.write.size
                    await self._commit(full, backing_off)
                else:
                    jobs.append(job)
            last, jobs = jobs, []
            if last:
                await self._commit(last, backing_off)
        except Exception as error:  # noqa: BLE001 - those who wait must hear of it
            for scope in scopes:
                _fail(self._pending.pop(scope, ()), error)
        finally:
            for job in jobs:
                _fail(job.waiting, StoreUnavailableError("attend is closed"))
            self._free(scope for scope in scopes if scope not in backing_off)
            loop = asyncio.get_running_loop()
            for scope, delay in backing_off.items():
                loop.call_later(delay, self._resume, scope)

    async def _bases(self, scopes: Sequence[str]) -> tuple[dict[str, Stored], frozenset[str]]:
        """What scopes are stored as: from the cache, loaded where that cannot be trusted; and which are cached.

        A scope that cannot be had is left out, and those waiting for it are told why.
        """
        bases: dict[str, Stored] = {}
        asked: list[tuple[str, Stored | None]] = []
        for scope in scopes:
            have = self._cache.get(scope)
            trusted = scope not in self._stale and not any(each.claim for each in self._pending[scope])
            if have is not None and trusted:
                bases[scope] = have
            else:
                asked.append((scope, have))
        cached = frozenset(bases)
        if not asked:
            return bases, cached
        waiting = [each for scope, _ in asked for each in self._pending[scope]]
        versions = [(scope, "" if have is None else have.version) for scope, have in asked]
        found = await self._persist(lambda: self._store.load(versions), waiting)
        for (scope, have), loaded in zip(asked, found or (), strict=found is not None):
            try:
                base = await restore(scope, have, loaded, self._book)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this scope's alone
                self._cache.drop(scope)
                _fail(self._pending.pop(scope, ()), error)
            else:
                self._stale.discard(scope)
                bases[scope] = base
        return bases, cached

    def _draft(self, scope: str, base: Stored, *, cached: bool) -> _Job | None:
        waiting = [each for each in self._pending.pop(scope, ()) if not each.batch.done]
        if not waiting:
            return None
        self._nonces += 1
        nonce = f"{self._nonce}{self._nonces:x}"
        try:
            draft = Draft(base, waiting, self._book, self._clock.now(), nonce)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this scope's alone
            _fail(waiting, error)
            return None
        if draft.write is None and cached:
            # No commit will say whether the cache still is what is stored: a lane that was full may have drained,
            # and what is a duplicate here may be gone from a server that was rolled back.
            self._stale.add(scope)
            self._pending[scope] = [*waiting, *self._pending.get(scope, ())]
            return None
        job = _Job(scope, draft, waiting)
        if draft.write is None:
            self._succeed(job, committed=False)
        return job

    async def _commit(self, jobs: Sequence[_Job], backing_off: dict[str, float]) -> None:
        writes = [job.draft.write for job in jobs if job.draft.write is not None]
        waiting = [each for job in jobs for each in job.waiting]
        outcomes: Sequence[Outcome] | None = None
        try:
            outcomes = await self._persist(lambda: self._store.commit(writes), waiting)
        except Exception as error:  # noqa: BLE001 - those who wait must hear of it
            _fail(waiting, error)
        finally:
            if outcomes is None:
                # Written or not: nobody knows until it is loaded again.
                for job in jobs:
                    self._cache.drop(job.scope)
                _fail(waiting, StoreUnavailableError(self._link.last_error or "attend is closed"))
        for job, outcome in zip(jobs, outcomes or (), strict=outcomes is not None):
            if outcome is Outcome.OK:
                self._succeed(job, committed=True)
            elif outcome is Outcome.BAD:
                self._cache.drop(job.scope)
                _fail(
                    job.waiting,
                    StoreCorruptError(f"scope {job.scope!r}: a key holds what attend never wrote"),
                )
            else:
                if outcome is Outcome.LOST:
                    self._cache.drop(job.scope)
                backing_off[job.scope] = self._again(job)

    def _succeed(self, job: _Job, *, committed: bool) -> None:
        result = job.draft.result
        self._cache.put(job.scope, result)
        for trace in job.draft.traces:
            self._observe(trace)
        for each in job.waiting:
            if each.error is not None or each.state is None:
                each.batch.settle(job.scope, each.error or StoreUnavailableError("it was not applied"))
                continue
            each.batch.settle(
                job.scope, Applied(each.state, each.calls, each.replies, result.version, committed, each.held)
            )

    def _again(self, job: _Job) -> float:
        """Another writer came first: put the submissions back at the head of the queue, and say for how long."""
        self._stale.add(job.scope)
        retried: list[Waiting] = []
        for each in job.waiting:
            each.attempts += 1
            over = each.attempts >= MAX_CONFLICTS and not each.patient
            if each.claim is not None:
                over = self._clock.now() > each.claim.until
            if over:
                each.batch.settle(job.scope, ConflictError(job.scope, each.attempts))
            else:
                retried.append(each)
        self._pending[job.scope] = [*retried, *self._pending.get(job.scope, ())]
        attempt = max((each.attempts for each in job.waiting), default=1)
        self._observe(CommitConflicted(job.scope, attempt))
        return random.uniform(0, min(2**attempt, LONGEST_JITTER_MS)) / 1000

    async def _persist(self, call: Callable[[], Awaitable[T]], waiting: Sequence[Waiting]) -> T | None:
        """Make a call until the store answers; None once nobody waits for it any more."""
        delay_ms = 50.0
        while True:
            try:
                found = await call()
            except StoreUnavailableError as error:
                self._link.failed(error)
            else:
                self._link.ok()
                return found
            await asyncio.sleep(random.uniform(0.5, 1) * delay_ms / 1000)
            if all(each.batch.done for each in waiting):
                return None
            delay_ms = min(delay_ms * 2, LONGEST_BACKOFF_MS)


def _fail(waiting: Iterable[Waiting], error: Exception) -> None:
    for each in waiting:
        each.batch.settle(each.scope, error)
