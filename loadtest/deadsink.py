"""Deliveries of a hundred scopes while the sink hangs for one more, beside the same without it."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack
from pathlib import Path

from attend import Attend, OutboxFullError, RedisStore
from loadtest.pace import steadily, until
from loadtest.probe import HANGING, nowhere
from loadtest.report import Slowdown
from loadtest.stage import Stage

KIND = {"user.said": "flush"}
SCOPES = 100
PER_SECOND = 100
DEAD = f"{HANGING}dead"
_WARM_UP = 20


class _Side:
    """A deployment of its own, whose worker notes each delivery."""

    def __init__(self, stage: Stage, prefix: str, cap: int) -> None:
        self.calls = stage.folder / f"{prefix}.calls"
        self._stage = stage
        self._prefix = prefix
        self._cap = cap
        # The rules must be those of the worker, sink and all; this process only pushes.
        self.app = Attend(
            store=RedisStore(stage.url, prefix=prefix), kind=KIND, settle={"max_outbox": cap}, sink=nowhere
        )
        self._sent = 0
        self._full = False

    async def start(self) -> None:
        """Start its worker."""
        await self._stage.start(
            *("-m", "attend", "worker", "--store", self._stage.url, "--prefix", self._prefix),
            *("--kinds", '{"user.said":"flush"}', "--settle", f"max_outbox={self._cap}"),
            *("--sink", "loadtest.probe:deliver"),
            environ={"LOADTEST_CALLS": str(self.calls)},
        )

    async def fill(self) -> None:
        """Decisions about the scope whose sink hangs, one by one until it takes no more."""
        for n in range(self._cap + 1):
            try:
                await self.app.push(
                    DEAD, [{"id": f"{n}", "name": "user.said", "text": "is the build green?"}]
                )
            except OutboxFullError:
                self._full = True
                return
            await self._decided(n + 1)
        raise AssertionError("the scope whose sink hangs took more than its cap")

    async def _decided(self, count: int) -> None:
        for _ in range(10_000):
            state = await self.app.engine.state(DEAD)
            if state is not None and len(state.outbox) >= count:
                return
            await asyncio.sleep(0.001)
        raise TimeoutError("no worker decides")

    async def burst(self, count: int) -> list[float]:
        """Flushes at a steady pace, each in one of the scopes; from each one's acceptance to its delivery, in ms."""
        first = self._sent
        self._sent += count
        async for n in steadily(count, PER_SECOND):
            id = f"{first + n}"
            event = {"id": id, "name": "user.said", "text": "is the build green?"}
            await self.app.push(f"talk/{(first + n) % SCOPES:03}", [event])
            if self._full and n % 3 == 0:
                # Whoever goes on sending to the one that is full is refused, and that costs nobody else either.
                with contextlib.suppress(OutboxFullError):
                    await self.app.push(DEAD, [{"name": "user.said"}])
        wanted = {f"{first + n}" for n in range(count)}
        await until(lambda: wanted <= self._delivered().keys())
        found = self._delivered()
        return [found[id] for id in wanted]

    def _delivered(self) -> dict[str, float]:
        return _deliveries(self.calls)


async def dead_sink(stage: Stage, rounds: int, deliveries: int, cap: int) -> Slowdown:
    """The p95 of deliveries with a scope that is full because its sink hangs, beside that without; interleaved."""
    pairs: list[tuple[float, float]] = []
    with_dead, without = _Side(stage, "dead", cap), _Side(stage, "alive", cap)
    async with AsyncExitStack() as open_now:
        for side in (with_dead, without):
            await side.start()
            await open_now.enter_async_context(side.app)
        await with_dead.fill()
        for side in (with_dead, without):
            await side.burst(_WARM_UP)
        for number in range(rounds):
            order = (with_dead, without) if number % 2 == 0 else (without, with_dead)
            found = {side: _p95(await side.burst(deliveries)) for side in order}
            pairs.append((found[with_dead], found[without]))
    return Slowdown.of(pairs)


def _p95(durations: list[float]) -> float:
    ordered = sorted(durations)
    return ordered[-(-len(ordered) * 95 // 100) - 1]


def _deliveries(calls: Path) -> dict[str, float]:
    """Milliseconds from an event's acceptance to its first delivery, by the event's id."""
    found: dict[str, float] = {}
    if not calls.exists():
        return found
    for line in calls.read_text(encoding="utf-8").splitlines():
        kind, _, *rest = line.split()
        if kind == "delivered":
            now, accepted_at, id = rest
            found.setdefault(id, float(now) - int(accepted_at))
    return found
