"""Time for everything above core: one clock a process, handed in, never read from the side."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the instant and waits. Nothing outside this module reads the time to decide anything."""

    def now(self) -> int:
        """The instant, in milliseconds; it never goes back."""
        ...

    async def sleep(self, ms: float) -> None:
        """Wait for a duration."""
        ...


class SystemClock:
    """The machine's monotonic clock plus an offset that is measured, against the wall clock at first.

    `measure` sets the offset against another clock, such as the Redis server's. The instant never goes back: when
    a new offset would make it, it stands still until time has caught up.
    """

    def __init__(self) -> None:
        self._offset = time.time() * 1000 - time.monotonic() * 1000
        self._last = 0

    def now(self) -> int:
        """The instant, in milliseconds."""
        self._last = max(self._last, int(time.monotonic() * 1000 + self._offset))
        return self._last

    async def sleep(self, ms: float) -> None:
        """Wait for a duration on the event loop's clock."""
        await asyncio.sleep(max(0.0, ms) / 1000)

    def measure(self, sent: float, theirs: int, received: float) -> None:
        """Take another clock's reading, `theirs`, asked for and had at these `time.monotonic()` seconds.

        The reading is taken to be from half way between, so the error is at most half the round trip.
        """
        self._offset = theirs - (sent + received) * 500
