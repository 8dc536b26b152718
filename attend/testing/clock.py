"""Time that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class FakeClock:
    """A clock whose instant changes only by `move_to` and `advance`."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> int:
        """The instant, in milliseconds."""
        return self._now

    async def sleep(self, ms: float) -> None:
        """Wait until the clock has been moved that far."""
        if ms <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + ms, next(self._order), sleeper))
        await sleeper

    @property
    def next_at(self) -> int | None:
        """When the next sleeper wakes, or None."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return -int(-self._sleepers[0][0] // 1) if self._sleepers else None

    def move_to(self, at: int) -> None:
        """Move on to an instant and wake whoever waited for it, without waiting for what they then do.

        An instant that has passed moves nothing.
        """
        self._now = max(self._now, at)
        while (wakes_at := self.next_at) is not None and wakes_at <= self._now:
            heapq.heappop(self._sleepers)[2].set_result(None)
