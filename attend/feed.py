"""The one reader of the decision log: poll, stream, tools and whatever else shows decisions are views of it.

One tailer a process reads the log as it grows and keeps its last rows in memory. A reader whose place is among them
reads memory; one that is further behind reads the store by itself, so a slow reader costs nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct

from attend.clock import Clock
from attend.core.codec import decode_summary
from attend.core.types import Route, Summary
from attend.cursor import decode_cursor, encode_cursor
from attend.errors import StateFormatError, StoreUnavailableError
from attend.store.base import DecisionLog, LogRow, Page, Position

logger = logging.getLogger(__name__)

PAGE = 500
"""Rows read at once from the store."""
MOST_SCANNED = 5000
"""Rows looked at in one read: past them it returns, with `more`, however few the filter let through."""
RING_ROWS, RING_BYTES = 2000, 16 * 1024 * 1024
"""What the tailer keeps in memory at most."""
TAIL_MS = 1000
"""How long the tailer blocks on a quiet log before it looks whether the log is still the same one."""
BACKOFF_MS = (50, 100, 200, 400, 800, 1000)
"""How long the tailer waits after each failure in a row; the last one from then on."""


class Filter(Struct, frozen=True):
    """Which decisions a reader wants. What is left None lets everything through.

    `min_confidence` hides a decision whose judge gave no confidence: nothing says that it is enough. `visible` is
    not the reader's wish but its right: the scope prefixes it may see.
    """

    scope: str | None = None
    scope_prefix: str | None = None
    routes: frozenset[Route] | None = None
    min_confidence: float | None = None
    visible: tuple[str, ...] | None = None

    def lets(self, decision: Summary) -> bool:
        """Whether the reader gets this decision."""
        if self.scope is not None and decision.scope != self.scope:
            return False
        if self.scope_prefix is not None and not decision.scope.startswith(self.scope_prefix):
            return False
        if self.routes is not None and decision.route not in self.routes:
            return False
        if self.min_confidence is not None and (
            decision.confidence is None or decision.confidence < self.min_confidence
        ):
            return False
        return self.visible is None or decision.scope.startswith(self.visible)


class Batch(Struct, frozen=True):
    """What one read gave.

    `cursors[i]` is the place after `decisions[i]`, `start` the place before the first and `cursor` the one to read
    on from, which has moved past rows that the filter hid. `truncated` when decisions after the place asked for
    are gone, or nothing is known of that place: reading began at the oldest that is kept. `more` when there are
    rows that this read did not get to.
    """

    decisions: tuple[Summary, ...]
    cursors: tuple[str, ...]
    start: str
    cursor: str
    truncated: bool
    more: bool


class _Seen(Struct, frozen=True):
    """A row, decoded once for everyone. A decision of None cannot be read, and is passed by."""

    position: Position
    cursor: str
    decision: Summary | None
    size: int


class _Reading(Struct):
    """A read on its way."""

    filter: Filter
    limit: int
    since: int
    start: Position
    place: Position
    truncated: bool = False
    more: bool = False
    scanned: int = 0
    found: list[_Seen] = []

    def take(self, rows: Sequence[_Seen], more: bool) -> None:
        for row in rows:
            if len(self.found) == self.limit or self.scanned == MOST_SCANNED:
                self.more = True
                return
            self.place = row.position
            self.scanned += 1
            if row.decision is not None and self.filter.lets(row.decision):
                if row.decision.decided_at < self.since:
                    self.truncated = True
                else:
                    self.found.append(row)
        self.more = more

    def batch(self) -> Batch:
        return Batch(
            tuple(row.decision for row in self.found if row.decision is not None),
            tuple(row.cursor for row in self.found),
            encode_cursor(self.start),
            encode_cursor(self.place),
            self.truncated,
            self.more,
        )


class Feed:
    """Reads a log for any number of readers."""

    def __init__(self, log: DecisionLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._ring: list[_Seen] = []
        self._base: Position | None = None
        self._end: Position | None = None
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
            return reading.batch()
        ask = not follow and cursor is not None
        while True:
            grown = self._grown
            await self._advance(reading, ask)
            ask = False
            if reading.found or reading.truncated or reading.more or stop():
                return reading.batch()
            left = deadline - time()
            if left <= 0:
                if self._failing is not None and wait_ms > 0:
                    raise StoreUnavailableError(f"the log cannot be read: {self._failing}") from self._failing
                return reading.batch()
            self._ensure_tailer()
            self.waiting += 1
            try:
                async with asyncio.timeout(left):
                    await grown.wait()
            except TimeoutError:
                pass  # Look once more, and return what there is.
            finally:
                self.waiting -= 1

    async def _begin(self, cursor: str | None, filter: Filter, limit: int, since: int) -> _Reading:
        if cursor is None:
            place = await self._log.end()
            return _Reading(filter, limit, since, place, place)
        known = decode_cursor(cursor)
        place = await self._log.start() if known is None else known
        return _Reading(filter, limit, since, place, place, truncated=known is None)

    async def _advance(self, reading: _Reading, ask: bool) -> None:
        """Take the rows after the reading's place, until it has enough or there are no more."""
        while True:
            rows = None if ask else self._after(reading.place)
            if rows is None:
                page = await self._page(reading)
                reading.take([_seen(row) for row in page.rows], page.more)
                if not page.rows:
                    reading.place = page.position
            else:
                reading.take(rows, more=len(rows) == PAGE)
            if not reading.more or len(reading.found) == reading.limit or reading.scanned == MOST_SCANNED:
                return

    async def _page(self, reading: _Reading) -> Page:
        page = await self._log.read(reading.place, PAGE)
        for _ in range(3):
            if not page.truncated:
                break
            reading.truncated = True
            reading.start = reading.place = await self._log.start()
            page = await self._log.read(reading.place, PAGE)
        return page

    def _after(self, place: Position) -> list[_Seen] | None:
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
        self._ring.extend(_seen(row) for row in page.rows)
        over, size = 0, sum(row.size for row in self._ring)
        while len(self._ring) - over > RING_ROWS or size > RING_BYTES:
            size -= self._ring[over].size
            over += 1
        if over:
            self._base = self._ring[over - 1].position
            del self._ring[:over]
        if page.rows or page.truncated:
            self.wake()


def _seen(row: LogRow) -> _Seen:
    cursor = encode_cursor(row.position)
    try:
        return _Seen(row.position, cursor, decode_summary(row.summary), len(row.summary))
    except StateFormatError as error:
        logger.error("row %d of the log is passed by: %s", row.position.n, error)
        return _Seen(row.position, cursor, None, 0)
