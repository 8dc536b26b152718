"""This process's link to its store: whether it stands, since when, and how far the clocks are apart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from attend.clock import Clock, SystemClock
from attend.errors import StoreUnavailableError
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.trace import Observer, StoreBack, StoreLost

MEASURE_EVERY_MS = 5000
QUIET_MS = 2000
"""How long after connecting a worker lets expired leases be: their holders may be just as late as itself."""

_SAMPLES = 3


class Link:
    """Told of every call's end by those who make them.

    A store in this very process has no clock of its own and is never away: nothing is measured there and no
    quiet kept.
    """

    def __init__(
        self, store: ScopeStore, clock: Clock, observe: Observer, *, quiet_ms: int | None = None
    ) -> None:
        here = isinstance(store, MemoryStore)
        self._store = store
        self._clock = clock
        self._observe = observe
        self._quiet_ms = (0 if here else QUIET_MS) if quiet_ms is None else quiet_ms
        self._measured = clock if isinstance(clock, SystemClock) and not here else None
        self._up_at = time.monotonic()
        self._lost_at: float | None = None
        self._watch: asyncio.Task[None] | None = None
        self.on_back: list[Callable[[], None]] = []
        self.on_measured: list[Callable[[], None]] = []
        """Called now and then while the link stands, too: a server may be emptied behind it."""
        self.last_error = ""

    @property
    def is_up(self) -> bool:
        """Whether the last call got through."""
        return self._lost_at is None

    @property
    def quiet_ms(self) -> int:
        """How much longer expired leases are to be left alone; 0 for no longer."""
        since_up = (time.monotonic() - self._up_at) * 1000
        return max(0, int(self._quiet_ms - since_up)) if self.is_up else self._quiet_ms

    async def start(self) -> None:
        """Measure the clock and go on measuring. Raises `StoreUnavailableError`."""
        await self.measure()
        self._up_at = time.monotonic()
        if self._measured is not None and self._watch is None:
            self._watch = asyncio.create_task(self._measure_again())

    async def close(self) -> None:
        """Stop measuring."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
            self._watch = None

    def failed(self, error: Exception) -> None:
        """A call ended in `StoreUnavailableError`."""
        self.last_error = str(error)
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            self._observe(StoreLost(self.last_error))

    def ok(self) -> None:
        """A call got through."""
        if self._lost_at is None:
            return
        lost_ms = int((time.monotonic() - self._lost_at) * 1000)
        self._lost_at = None
        self._up_at = time.monotonic()
        self._observe(StoreBack(lost_ms))
        for back in self.on_back:
            back()

    async def measure(self) -> None:
        """Set the clock by the store's: the reading with the shortest round trip of a few counts."""
        if self._measured is None:
            return
        readings: list[tuple[float, float, int, float]] = []
        for _ in range(_SAMPLES):
            sent = time.monotonic()
            theirs = await self._store.server_now()
            received = time.monotonic()
            readings.append((received - sent, sent, theirs, received))
        _, sent, theirs, received = min(readings)
        self._measured.measure(sent, theirs, received)

    async def _measure_again(self) -> None:
        while True:
            await asyncio.sleep((MEASURE_EVERY_MS if self.is_up else 1000) / 1000)
            try:
                await self.measure()
            except StoreUnavailableError as error:
                self.failed(error)
            else:
                self.ok()
                for measured in self.on_measured:
                    measured()
