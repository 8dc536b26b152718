"""The one reader of the attention feed: the tool, the resource and its notifications are views of it.

News is rare, so a reader that waits is only told that there is some; it then reads the store itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from msgspec import Struct

from attend.clock import Clock
from attend.core.codec import decode_news
from attend.core.news import News, NewsCode
from attend.errors import StateFormatError
from attend.seal import Seal
from attend.store.base import Position
from attend.store.news_log import NewsLog

logger = logging.getLogger(__name__)

PAGE = 500
LATEST_SCANNED = 2000
"""How many rows back the latest news is looked for."""
WATCH_MS = 1000
"""How long the watcher blocks on a quiet feed before it looks whether it still is the same one."""
BACKOFF_MS = (50, 100, 200, 400, 800, 1000)


class Reader(Struct, frozen=True):
    """Who reads: the name that news is for, None for one who stands for everybody, and the prefixes it may see."""

    name: str | None = None
    visible: tuple[str, ...] | None = None

    def sees(self, news: News) -> bool:
        """Whether the reader may know of this.

        What a run came to is for who started it, and an approval for those who were asked; one without a name of
        its own, which is who holds the only token, gets those too.
        """
        if self.visible is not None and not news.scope.startswith(self.visible):
            return False
        if self.name is None:
            return True
        if news.people is not None:
            return self.name in news.people
        return news.code in (NewsCode.RUN_FAILED, NewsCode.ALERT)


class NewsBatch(Struct, frozen=True):
    """What one read gave; `cursors[i]` is the place after `news[i]`. The rest is as in a `Batch` of decisions."""

    news: tuple[News, ...]
    cursors: tuple[str, ...]
    cursor: str
    truncated: bool
    more: bool


class NewsFeed:
    """Reads the feed for any number of readers."""

    def __init__(self, log: NewsLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._seal: Seal | None = None
        self._grown = asyncio.Event()
        self._watching: asyncio.Event | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._closed = False
        self._waiting = 0

    async def close(self) -> None:
        """Stop watching. Idempotent. A read that waits goes on until its time is up."""
        self._closed = True
        watcher, self._watcher = self._watcher, None
        while watcher is not None and not watcher.done():
            watcher.cancel()
            await asyncio.wait((watcher,), timeout=0.1)

    def wake(self) -> None:
        """Make every read that waits look again, and ask its `stop`."""
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    async def read(
        self,
        cursor: str | None,
        reader: Reader,
        *,
        limit: int = 100,
        wait_ms: float = 0,
        stop: Callable[[], bool] = lambda: False,
    ) -> NewsBatch:
        """Up to `limit` pieces of news after a cursor; None is from now.

        Where there is none it waits for some up to `wait_ms`, or until `stop` says so (see `wake`). A cursor that is
        none of this feed's, or whose news is gone, gives `truncated` and the oldest that is kept. Raises
        `StoreUnavailableError`.
        """
        time = asyncio.get_running_loop().time
        deadline = time() + wait_ms / 1000
        end = await self._log.end()
        seal = await self._sealed(end)
        place, truncated = end, False
        if cursor is not None:
            known = seal.open(cursor)
            place, truncated = (await self._log.start(), True) if known is None else (known, False)
        self._waiting += 1
        try:
            while True:
                if wait_ms > 0:
                    await self._watched()
                grown = self._grown
                found, place, gone, more = await self._after(place, reader, limit)
                truncated = truncated or gone
                left = deadline - time()
                if found or truncated or left <= 0 or stop():
                    return self._batch(seal, reader, found, place, truncated, more)
                try:
                    async with asyncio.timeout(left):
                        await grown.wait()
                except TimeoutError:
                    pass  # Look once more, and return what there is.
        finally:
            self._waiting -= 1

    async def open_conditions(self, reader: Reader) -> list[News]:
        """The conditions that are open, as the reader may see them, the longest open first."""
        found = [_decoded(row) for row in await self._log.conditions()]
        return [news for news in found if news is not None and reader.sees(news)]

    async def latest(self, reader: Reader, count: int) -> list[News]:
        """The last `count` pieces of news that the reader may see, oldest first."""
        end = await self._log.end()
        start = await self._log.start()
        place = Position(end.epoch, max(start.n, end.n - LATEST_SCANNED))
        found: list[News] = []
        while True:
            page = await self._log.read(place, PAGE)
            for row in page.rows:
                news = _decoded(row.summary)
                if news is not None and reader.sees(news):
                    found.append(news)
            place = page.position
            if not page.more:
                return found[-count:]

    async def _after(
        self, place: Position, reader: Reader, limit: int
    ) -> tuple[list[tuple[Position, News]], Position, bool, bool]:
        """What a reader sees after a place, the place it came to, whether some was gone, and whether there is more."""
        found: list[tuple[Position, News]] = []
        truncated = False
        while True:
            page = await self._log.read(place, PAGE)
            truncated = truncated or page.truncated
            for row in page.rows:
                news = _decoded(row.summary)
                if news is not None and reader.sees(news):
                    if len(found) == limit:
                        return found, place, truncated, True
                    found.append((row.position, news))
                place = row.position
            place = page.position
            if not page.more:
                return found, place, truncated, False

    def _batch(
        self,
        seal: Seal,
        reader: Reader,
        found: list[tuple[Position, News]],
        place: Position,
        truncated: bool,
        more: bool,
    ) -> NewsBatch:
        # Equal places must not look equal to one who does not see all: see `attend.seal`.
        unlike = reader.visible is not None or reader.name is not None
        return NewsBatch(
            tuple(news for _, news in found),
            tuple(seal.close(position, unlike=unlike) for position, _ in found),
            seal.close(place, unlike=unlike),
            truncated,
            more,
        )

    async def _sealed(self, end: Position) -> Seal:
        if self._seal is None or self._seal.epoch != end.epoch:
            self._seal = Seal(await self._log.secret(), end.epoch)
        return self._seal

    async def _watched(self) -> None:
        """Wait until the watcher knows where the feed ends: what comes after that wakes whoever waits."""
        if self._closed:
            return
        if self._watcher is None or self._watcher.done() or self._watching is None:
            self._watching = asyncio.Event()
            self._watcher = asyncio.create_task(self._watch(self._watching), name="attend news")
        await self._watching.wait()

    async def _watch(self, watching: asyncio.Event) -> None:
        place: Position | None = None
        failures = 0
        try:
            while self._waiting:
                try:
                    if place is None:
                        place = await self._log.end()
                        watching.set()
                    if await self._log.wait(place, WATCH_MS):
                        place = await self._log.end()
                        self.wake()
                    if failures:
                        self.wake()
                    failures = 0
                except Exception as error:  # noqa: BLE001 - readers wait for this task: it goes on
                    if not failures:
                        logger.warning("the attention feed cannot be read, trying again: %s", error)
                    watching.set()
                    await self._clock.sleep(BACKOFF_MS[min(failures, len(BACKOFF_MS) - 1)])
                    failures += 1
        finally:
            watching.set()


def _decoded(row: bytes) -> News | None:
    try:
        return decode_news(row)
    except StateFormatError as error:
        logger.error("a piece of news is passed by: %s", error)
        return None
