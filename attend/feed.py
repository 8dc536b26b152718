"""The one reader of the decision log: poll, stream, tools and whatever else shows decisions are views of it.

One tailer a process reads the log as it grows and keeps its last rows in memory. A reader whose place is among them
reads memory; one that is further behind reads the store by itself, so a slow reader costs nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attend.clock import Clock
from attend.errors import StoreUnavailableError
from attend.reading import MOST_SCANNED, Batch, Filter, Reading, Seen, seen
from attend.seal import Seal
from attend.store.base import DecisionLog, Page, Position

__all__ = ["MOST_SCANNED", "Batch", "Feed", "Filter"]

logger = logging.getLogger(__name__)

PAGE = 500
"""Rows read at once from the store."""
RING_ROWS, RING_BYTES = 2000, 16 * 1024 * 1024
"""What the tailer keeps in memory at most."""
TAIL_MS = 1000
"""How long the tailer blocks on a quiet log before it looks whether the log is still the same one."""
BACKOFF_MS = (50, 100, 200, 400, 800, 1000)
"""How long the tailer waits after each failure in a row; the last one from then on."""


class Feed:
    """Reads a log for any number of readers."""

    def __init__(self, log: DecisionLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._ring: list[Seen] = []
        self._base: Position | None = None
        self._end: Position | None = None
        self._seal: Seal | None = None
        self._failing: Exception | None = None
        self._grown = asyncio.Event()
        self._tailer: asyncio.Task[None] | None = None
        self._closed = False
        self.waiting = 0
        """How many reads wait for a decision now."""

    async def start(self) -> None:
        """Start the tailer. Idempotent; a read that waits starts it too."""
        self._closed = False
        self._ensure_tailer()

    def _ensure_tailer(self) -> None:
        if not self._closed and (self._tailer is None or self._tailer.done()):
            self._tailer = asyncio.create_task(self._tail(), name="attend feed")

    async def close(self) -> None:
        """Stop the tailer. Idempotent. A read that waits goes on until its time is up."""
        self._closed = True
        tailer, self._tailer = self._tailer, None
        while tailer is not None and not tailer.done():
            # Again and again: before Python 3.12 `wait_for`, which redis-py sends by, can swallow a cancellation.
            tailer.cancel()
            await asyncio.wait((tailer,), timeout=0.1)

    def wake(self) -> None:
        """Make every read that waits look again, and ask its `stop`."""
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    async def read(
        self,
        cursor: str | None,
        filter: Filter,
        *,
        limit: int = PAGE,
        wait_ms: float = 0,
        since: int = 0,
        follow: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> Batch:
        """Up to `limit` decisions after a cursor; None is from now, which gives none at first, and a cursor.

        Where there are none it waits for one up to `wait_ms`, or until `stop` says so (see `wake`); a truncated
        read does not wait. The store is asked first, so what has committed is there and what was trimmed is not; with
        `follow`, for the next read of one that goes on, memory will do. Decisions made before `since` are passed
        by, and the batch is then truncated. Raises `StoreUnavailableError` when the
        store cannot be asked, or could not be read when the wait ended.
        """
        time = asyncio.get_running_loop().time
        deadline = time() + wait_ms / 1000
        reading = await self._begin(cursor, filter, limit, since)
        if cursor is None and wait_ms <= 0:
            return await self._batch(reading)
        ask = not follow and cursor is not None
        while True:
            grown = self._grown
            await self._advance(reading, ask)
            ask = False
            if reading.found or reading.truncated or reading.more or stop():
                return await self._batch(reading)
            left = deadline - time()
            if left <= 0:
                if self._failing is not None and wait_ms > 0:
                    raise StoreUnavailableError(f"the log cannot be read: {self._failing}") from self._failing
                return await self._batch(reading)
            self._ensure_tailer()
            self.waiting += 1
            try:
                async with asyncio.timeout(left):
                    await grown.wait()
            except TimeoutError:
                pass  # Look once more, and return what there is.
            finally:
                self.waiting -= 1

    async def before(self, at: int) -> str:
        """The cursor that what was logged at or after an instant comes after. Raises `StoreUnavailableError`."""
        place = await self._log.before(at)
        return (await self._sealed(place.epoch)).close(place, unlike=False)

    async def _begin(self, cursor: str | None, filter: Filter, limit: int, since: int) -> Reading:
        if cursor is None:
            place = await self._log.end()
            return Reading(filter, limit, since, place, place)
        cursor = cursor.partition(".")[0]  # Of `attend_wait`: what follows is its own.
        known = None if self._seal is None else self._seal.open(cursor)
        if known is None:
            # It may be sealed by another process that knows of a log begun anew.
            place = await self._log.start()
            known = (await self._sealed(place.epoch, anew=True)).open(cursor)
            return Reading(filter, limit, since, known or place, known or place, truncated=known is None)
        return Reading(filter, limit, since, known, known)

    async def _batch(self, reading: Reading) -> Batch:
        return reading.batch(await self._sealed(reading.place.epoch))

    async def _sealed(self, epoch: str, *, anew: bool = False) -> Seal:
        """The seal of the log as it is now: a log that was begun anew has another secret."""
        seal = self._seal
        if seal is None or anew or seal.epoch != epoch:
            seal = self._seal = Seal(await self._log.secret(), epoch)
        return seal

    async def _advance(self, reading: Reading, ask: bool) -> None:
        """Take the rows after the reading's place, until it has enough or there are no more."""
        while True:
            rows = None if ask else self._after(reading.place)
            if rows is None:
                page = await self._page(reading)
                reading.take([seen(row) for row in page.rows], page.more)
                if not page.rows:
                    reading.place = page.position
            else:
                reading.take(rows, more=len(rows) == PAGE)
            if reading.full or not reading.more:
                return

    async def _page(self, reading: Reading) -> Page:
        page = await self._log.read(reading.place, PAGE)
        for _ in range(3):
            if not page.truncated:
                break
            reading.truncated = True
            reading.start = reading.place = await self._log.start()
            page = await self._log.read(reading.place, PAGE)
        return page

    def _after(self, place: Position) -> list[Seen] | None:
        """The rows in memory after a place; None where memory does not know it."""
        if place == self._end:
            return []
        if place == self._base:
            return self._ring[:PAGE]
        if not self._ring:
            return None
        i = place.n - self._ring[0].position.n
        if 0 <= i < len(self._ring) and self._ring[i].position == place:
            return self._ring[i + 1 : i + 1 + PAGE]
        return None

    async def _tail(self) -> None:
        failures = 0
        while True:
            try:
                if self._end is None:
                    self._end = self._base = await self._log.end()
                    self.wake()
                page = await self._log.read(self._end, PAGE)
                self._keep(page)
                if failures:
                    logger.warning("the log can be read again")
                failures, self._failing = 0, None
                if not page.rows:
                    await self._log.wait(page.position, TAIL_MS)
            except Exception as error:  # noqa: BLE001 - readers wait for this task: it goes on
                self._failing = error
                if not failures:
                    logger.warning("the log cannot be read, trying again: %s", error)
                await self._clock.sleep(BACKOFF_MS[min(failures, len(BACKOFF_MS) - 1)])
                failures += 1

    def _keep(self, page: Page) -> None:
        if page.truncated:
            self._ring.clear()
            self._base = None
        self._end = page.position
        self._ring.extend(seen(row) for row in page.rows)
        over, size = 0, sum(row.size for row in self._ring)
        while len(self._ring) - over > RING_ROWS or size > RING_BYTES:
            size -= self._ring[over].size
            over += 1
        if over:
            self._base = self._ring[over - 1].position
            del self._ring[:over]
        if page.rows or page.truncated:
            self.wake()
