"""One lane of a runner: its slots, what it has in hand, what wakes it, and the timer for its next due instant."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from attend.clock import Clock
from attend.core.types import Lane

LONG_MS = 250
"""What a call may take before it is set aside."""


class LaneSlots:
    """Counts what a lane has in hand. `wake` is set when it may be worth claiming.

    Beside its `slots` a lane has `room` for calls set aside because they take long, so that those of one receiver
    that hangs do not hold up the others.
    """

    def __init__(self, lane: Lane, slots: int, clock: Clock, room: int = 0) -> None:
        self.lane = lane
        self.slots = slots
        self.running = 0
        self.aside = 0
        self._room = room
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

    @contextmanager
    def calling(self, lease_ms: float) -> Generator[None]:
        """A call is made meanwhile, under a lease. Once it takes long its slot goes to others, where there is room
        for it aside; once its lease is over, in any case: a call that will not be cancelled must not keep it.
        """
        loop = asyncio.get_running_loop()
        is_aside = is_over = False
        timer: asyncio.TimerHandle | None = None

        def set_aside() -> None:
            nonlocal is_aside, timer
            if self.aside < self._room:
                is_aside = True
                self.aside += 1
                self.give()
            else:
                timer = loop.call_later(LONG_MS / 1000, set_aside)

        def end() -> None:
            nonlocal is_aside, is_over
            is_over = True
            if timer is not None:
                timer.cancel()
            if is_aside:
                is_aside = False
                self.aside -= 1
            else:
                self.give()

        if self._room:
            timer = loop.call_later(LONG_MS / 1000, set_aside)
        ending = loop.call_later(max(0.0, lease_ms) / 1000, end)
        try:
            yield
        finally:
            ending.cancel()
            if timer is not None:
                timer.cancel()
            if is_aside:
                self.aside -= 1
            if is_aside or is_over:
                # For what little is left it has a slot again, over their number if need be.
                self.take()

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


class Run:
    """One claimed scope in hand: `now` is the claim's instant, `until` its end."""

    __slots__ = ("calling", "lane", "now", "scope", "turn", "until")

    def __init__(self, lane: LaneSlots, scope: str, now: int, until: int) -> None:
        self.lane = lane
        self.scope = scope
        self.now = now
        self.until = until
        self.calling = False
        self.turn = False
