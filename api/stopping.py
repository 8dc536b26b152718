"""The end of a server's life, told to everything that would otherwise go on."""

from __future__ import annotations

import asyncio

from attend.feed import Feed
from attend.news_feed import NewsFeed


class Stopping:
    """Says whether the server is shutting down, and ends waits when it begins to."""

    def __init__(self, *feeds: Feed | NewsFeed) -> None:
        self._feeds = feeds
        self._begun = asyncio.Event()

    def __call__(self) -> bool:
        """Whether it has begun."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Begin: streams end, and waits return what they have."""
        self._begun.set()
        for feed in self._feeds:
            feed.wake()

    async def begun(self) -> None:
        """Wait until it begins."""
        await self._begun.wait()

    async def wait(self, ms: float) -> None:
        """Wait this long, or until it begins."""
        try:
            async with asyncio.timeout(ms / 1000):
                await self._begun.wait()
        except TimeoutError:
            pass
