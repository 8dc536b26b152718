"""Who did what: a row for each call that changes something, and one in ten minutes for each principal that listens.

Rows are written behind, in groups, so that no call waits for them; a process that is killed loses its last few.
A row holds names, ids and counts: never a token, and no event's text.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import msgspec

from attend.clock import Clock
from attend.errors import AttendError
from attend.store.records import Entry, Records

logger = logging.getLogger("attend")

READING_MS = 600_000
"""How long one row stands for all that a principal reads."""

_GATHER_MS = 20
_GROUP = 500
_MOST_WAITING = 10_000
_RETRY_MS = 1000
_LAST_TRY_MS = 1000


class Audit:
    """Takes rows for one store, which keeps `most` of them."""

    def __init__(self, records: Records, clock: Clock, most: int) -> None:
        self._records = records
        self._clock = clock
        self._most = most
        self._waiting: deque[Entry] = deque()
        self._came = asyncio.Event()
        self._lately: dict[str, int] = {}
        self._lost = 0
        self._failing = False

    def note(self, principal: str, act: str, what: Mapping[str, str | int]) -> None:
        """A row for a call that changed something."""
        self._add(principal, act, what, "", 0)

    def note_reading(self, principal: str, act: str) -> None:
        """A row for a principal that listens, where no process wrote one of it in the last ten minutes."""
        now = self._clock.now()
        if now - self._lately.get(principal, -READING_MS) >= READING_MS:
            self._lately[principal] = now
            self._add(principal, act, {}, principal, READING_MS)

    def _add(
        self, principal: str, act: str, what: Mapping[str, str | int], name: str, within_ms: int
    ) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self._lost += 1
            return
        at = self._clock.now()
        row = msgspec.json.encode({"at": at, "principal": principal, "act": act, **what})
        self._waiting.append(Entry(row, at, name, within_ms))
        self._came.set()

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Write while this is entered; what is left is written as it is left, where the store lets it."""
        writing = asyncio.create_task(self._write(), name="attend audit")
        try:
            yield
        finally:
            writing.cancel()
            await asyncio.wait([writing])
            with contextlib.suppress(TimeoutError, AttendError):
                async with asyncio.timeout(_LAST_TRY_MS / 1000):
                    while self._waiting:
                        await self._group()
            if self._waiting:
                logger.warning("%d audit rows could not be written", len(self._waiting))

    async def _write(self) -> None:
        while True:
            await self._came.wait()
            await asyncio.sleep(_GATHER_MS / 1000)
            self._came.clear()
            try:
                while self._waiting:
                    await self._group()
            except AttendError as error:
                if not self._failing:
                    logger.warning("audit rows cannot be written, trying again: %s", error)
                self._failing = True
                await asyncio.sleep(_RETRY_MS / 1000)
                self._came.set()

    async def _group(self) -> None:
        some = [self._waiting[place] for place in range(min(_GROUP, len(self._waiting)))]
        await self._records.add(some, self._most)
        for _ in some:
            self._waiting.popleft()
        self._failing = False
        if self._lost:
            logger.warning("%d audit rows were lost while the store was away", self._lost)
            self._lost = 0
