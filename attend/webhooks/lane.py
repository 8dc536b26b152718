"""The lane of webhooks: watches the log for news, claims the subscriptions that are due, runs them side by side."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from attend.clock import Clock
from attend.core.subscription import WebhookRules
from attend.core.types import Summary
from attend.errors import AttendError, StoreUnavailableError
from attend.feed import Feed, Filter
from attend.store.subscriptions import Subscriptions
from attend.webhooks.courier import Courier
from attend.webhooks.endpoint import Poster

logger = logging.getLogger("attend")

SLOTS = 64
TICK_MS = 1000
"""How often to claim without having been woken."""

_wants = msgspec.msgpack.Decoder(Filter)


class Webhooks:
    """Delivers to every subscription of a store, beside whoever else does: each is claimed by one at a time."""

    def __init__(
        self,
        store: Subscriptions,
        feed: Feed,
        clock: Clock,
        rules: WebhookRules,
        *,
        slots: int = SLOTS,
        grace_ms: int = 3000,
    ) -> None:
        self._store = store
        self._feed = feed
        self._clock = clock
        self._rules = rules
        self._slots = slots
        self._grace_ms = grace_ms
        self._n = -1
        self._wanted: dict[str, Filter] = {}
        self._wake = asyncio.Event()
        self._runs: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until cancelled. Then posts in hand get the grace to end."""
        poster = Poster(self._rules.timeout_ms, local=self._rules.local)
        courier = Courier(self._store, self._feed, self._clock, self._rules, poster)
        try:
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._watch())
                loops.create_task(self._claim(courier))
        finally:
            courier.stopping = True
            try:
                await self._drain()
            finally:
                await poster.close()

    async def _claim(self, courier: Courier) -> None:
        next_at: int | None = None
        while True:
            wait_ms = TICK_MS if next_at is None else max(0, min(TICK_MS, next_at - self._clock.now()))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_ms / 1000):
                    await self._wake.wait()
            self._wake.clear()
            free = self._slots - len(self._runs)
            next_at = None
            if not free or not self._wanted:
                continue
            now = self._clock.now()
            until = now + self._rules.lease_ms
            try:
                claimed = await self._store.claim(now, free, until)
            except AttendError as error:
                await self._pause(error)
                continue
            if len(claimed.ids) < free:
                next_at = claimed.next_at
            for id in claimed.ids:
                task = asyncio.create_task(self._run(courier, id, until), name=f"attend webhook {id}")
                self._runs.add(task)
                task.add_done_callback(self._ended)

    async def _run(self, courier: Courier, id: str, until: int) -> None:
        try:
            await courier.run(id, until)
        except StoreUnavailableError as error:
            # The claim ends by itself, and whoever takes the subscription then goes on where the store has it.
            logger.warning("subscription %s: %s", id, error)
        except Exception:
            logger.exception("subscription %s", id)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if len(self._runs) == self._slots:
            self._wake.set()
        self._runs.discard(task)

    async def _watch(self) -> None:
        """Follow the log, and make due whoever wants what came."""
        cursor: str | None = None
        while True:
            try:
                await self._look()
                if not self._wanted:
                    cursor = None
                    await asyncio.sleep(TICK_MS / 1000)
                    continue
                if cursor is None:
                    cursor = (await self._feed.read(None, Filter())).cursor
                    await self._rouse(self._wanted)
                    continue
                batch = await self._feed.read(cursor, Filter(), wait_ms=TICK_MS, follow=True)
                if batch.decisions:
                    await self._look()
                await self._rouse(self._wanted if batch.truncated else self._wanting(batch.decisions))
                cursor = batch.cursor
            except AttendError as error:
                await self._pause(error)

    async def _look(self) -> None:
        found = await self._store.wants(self._n)
        if found is None:
            return
        had = bool(self._wanted)
        self._wanted = {}
        for id, wants in found.wants.items():
            try:
                self._wanted[id] = _wants.decode(wants)
            except msgspec.MsgspecError as error:
                # Of a version that is newer: whoever runs that delivers to it, and the others have theirs here.
                logger.error("what subscription %s wants cannot be read: %s", id, error)
        self._n = found.n
        if not had and self._wanted:
            self._wake.set()

    def _wanting(self, decisions: Iterable[Summary]) -> list[str]:
        some = list(decisions)
        return [id for id, wants in self._wanted.items() if any(map(wants.lets, some))]

    async def _rouse(self, ids: Iterable[str]) -> None:
        named = list(ids)
        if named:
            await self._store.rouse(named, self._clock.now())
            self._wake.set()

    async def _drain(self) -> None:
        if self._runs:
            await asyncio.wait(self._runs, timeout=self._grace_ms / 1000)
        left = list(self._runs)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _pause(self, error: AttendError) -> None:
        # The scopes' lanes say it where the store is away.
        if not isinstance(error, StoreUnavailableError):
            logger.error("webhooks: %s", error)
        await asyncio.sleep(random.uniform(0.1, 1.0))
