"""One lane of a runner: its slots, what wakes it, and the timer for its next due instant."""

from __future__ import annotations

import asyncio

from attend.clock import Clock
from attend.core.types import Lane


class LaneSlots:
    """Counts what a lane has in hand. `wake` is set when it may be worth claiming."""

    def __init__(self, lane: Lane, slots: int, clock: Clock) -> None:
        self.lane = lane
        self.slots = slots
        self.running = 0
        self.wake = asyncio.Event()
        self.wake.set()
        self.more = False
        """Whether the last claim returned as many as it asked for, so a slot that frees is worth another."""
        self._clock = clock
        self._timer: asyncio.Task[None] | None = None
        self._rings_at: int | None = None

    @property
    def free(self) -> int:
        """How many slots are free."""
        return max(0, self.slots - self.running)

    def take(self) -> None:
        """A run starts."""
        self.running += 1

    def give(self) -> None:
        """A run ended, or goes on without a slot."""
        self.running -= 1
        if self.more:
            self.wake.set()

    def wake_at(self, at: int | None) -> None:
        """Wake at an instant, in place of the one that was set before; None for not at all."""
        if at == self._rings_at:
            return
        self.stop()
        if at is not None:
            self._rings_at = at
            self._timer = asyncio.create_task(self._ring(at))

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._rings_at = None

    async def _ring(self, at: int) -> None:
        await self._clock.sleep(at - self._clock.now())
        self._timer = self._rings_at = None
        self.wake.set()
