"""Time that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Generator, Sized
from contextlib import contextmanager
from itertools import count

ROUNDS_WITHOUT_A_LOOK = 200
"""Rounds of a loop that does not let its ready queue be looked at, before it counts as having come to rest."""

MOST_ROUNDS = 200_000
"""Rounds of the loop after which something must be turning round and round in it."""


class FakeClock:
    """A clock whose instant changes only by `advance` and `move_to`.

    It begins at `now`, in milliseconds.
    """

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._held = 0
        self._let_go: asyncio.Event | None = None

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

    async def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass: each timer on the way fires at its own instant, and its work ends first.

        Work is what the event loop can do without waiting for anything outside it, and what `hold` marks. A judge
        that sleeps on this clock, or hangs, does not hold it up.
        """
        if ms < 0:
            raise ValueError(f"ms is {ms}, time does not go back")
        await self.advance_to(self._now + ms)

    async def advance_to(self, at: int) -> None:
        """As `advance`, up to an instant; one that has passed lets what is under way end and no time pass."""
        await self.rest()
        while (wakes_at := self.next_at) is not None and wakes_at <= at:
            self.move_to(wakes_at)
            await self.rest()
        self.move_to(at)
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is left to do at this instant.

        Raises `RuntimeError` when that never comes about: something goes round in the loop without sleeping.
        """
        ready: Sized | None = getattr(asyncio.get_running_loop(), "_ready", None)
        quiet = 0
        for _ in range(MOST_ROUNDS):
            if self._held:
                await self._wait_let_go()
            await asyncio.sleep(0)
            # Nothing but this task's own step was ready: all others wait for a timer, or for the outside.
            quiet = quiet + 1 if not ready and not self._held else 0
            if quiet >= (2 if ready is not None else ROUNDS_WITHOUT_A_LOOK):
                return
        raise RuntimeError(
            "the event loop does not come to rest: something in it goes round without sleeping"
        )

    @contextmanager
    def hold(self) -> Generator[None]:
        """Time stands still inside: `advance` waits for what it cannot see, such as a thread or an answer from a
        network."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if not self._held and self._let_go is not None:
                self._let_go.set()

    async def _wait_let_go(self) -> None:
        self._let_go = asyncio.Event()
        try:
            await self._let_go.wait()
        finally:
            self._let_go = None


def fake_clock(now: int = 1_700_000_000_000) -> FakeClock:
    """A clock that stands at `now`, in milliseconds, until it is moved."""
    return FakeClock(now)
