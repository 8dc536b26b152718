"""Sleeping until a wake token comes, without ever losing one."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Sequence

from attend.core.types import Lane
from attend.errors import StoreError
from attend.store.keys import Keys
from attend.store.redis_link import Link


class Sleepers:
    """The BLPOPs under way in this process.

    A BLPOP that is cancelled may take its token with it, so each is a task of its own that nobody cancels: who
    must end it before its time pushes to a key that only it waits for, and a token that came all the same is put
    back.
    """

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._lanes = {keys.wake(lane).encode(): lane for lane in Lane}
        self._names = (f"{secrets.token_hex(8)}-{n}" for n in itertools.count())
        self._sleeping: dict[asyncio.Task[Lane | None], str] = {}
        self._upkeep: set[asyncio.Task[None]] = set()

    async def sleep(self, lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        """Wait for a token on any of the lanes and take it; None after the time."""
        nudge = self._keys.nudge(next(self._names))
        task = asyncio.create_task(self._take(lanes, nudge, max(1, timeout_ms)))
        self._sleeping[task] = nudge
        task.add_done_callback(lambda task: self._sleeping.pop(task, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            ending = asyncio.create_task(self._give_back(task, nudge))
            self._upkeep.add(ending)
            ending.add_done_callback(self._upkeep.discard)
            raise

    async def _take(self, lanes: Sequence[Lane], nudge: str, timeout_ms: int) -> Lane | None:
        lists = [*(self._keys.wake(lane) for lane in lanes), nudge]
        taken = await self._link.block(timeout_ms, "BLPOP", *lists, timeout_ms / 1000)
        return None if taken is None else self._lanes.get(taken[0])

    async def _give_back(self, task: asyncio.Task[Lane | None], nudge: str) -> None:
        """End a wait whose sleeper is gone, and put back the token that it may have taken."""
        try:
            lane = await self._end(task, nudge)
            if lane is not None:
                await self.pass_on(lane)
        except StoreError:
            pass  # With the server gone there is no token to save; sleepers look again within a second.

    async def _end(self, task: asyncio.Task[Lane | None], nudge: str) -> Lane | None:
        if not task.done():
            await self._link.together(("RPUSH", nudge, "1"), ("PEXPIRE", nudge, 5000))
        return await asyncio.shield(task)

    async def pass_on(self, lane: Lane) -> None:
        """Put a token back, where none lies there."""
        await self._link.run("wake", [self._keys.wake(lane)], [])

    async def close(self) -> None:
        """End every wait before its time; who slept is told what came until then."""
        ending = [self._end(task, nudge) for task, nudge in list(self._sleeping.items())]
        await asyncio.gather(*ending, *self._upkeep, return_exceptions=True)
