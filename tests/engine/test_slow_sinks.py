"""A sink that hangs for some scopes: the others go on, and what waits is not lost."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.clock import SystemClock
from attend.core.trace import VerdictReached
from attend.core.types import Decision, Lane
from attend.errors import OutboxFullError
from attend.lane import LaneSlots
from attend.store.base import ScopeStore
from attend.trace import Trace
from tests.engine.world import running, until

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

KINDS = {"u": "flush"}


class Hanging:
    """A sink that hangs for scopes named `hung...` until it is let go, and keeps what it takes in order."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.hanging: set[str] = set()
        self.taken: dict[str, list[str]] = defaultdict(list)

    async def deliver(self, decision: Decision) -> None:
        """Take it, now or later."""
        if decision.scope.startswith("hung"):
            self.hanging.add(decision.scope)
            await self.let_go.wait()
        self.taken[decision.scope] += decision.event_ids


async def test_more_hanging_scopes_than_slots_do_not_hold_up_the_others(new_store: NewStore) -> None:
    sink = Hanging()
    app = Attend(store=new_store(), kind=KINDS, sink=sink, settle={"delivery_timeout_ms": 300_000}, slots=2)
    async with running(app):
        for n in range(12):
            await app.push(f"hung{n}", [{"id": "e", "name": "u"}])
        await until(lambda: len(sink.hanging) == 12)
        for n in range(20):
            await app.push(f"s{n}", [{"id": "e", "name": "u"}])
        await until(lambda: len(sink.taken) == 20)
        sink.let_go.set()
        await until(lambda: len(sink.taken) == 32)


async def test_calls_are_set_aside_only_as_far_as_there_is_room() -> None:
    lane = LaneSlots(Lane.DELIVER, 2, SystemClock(), room=1)
    go = asyncio.Event()

    async def call() -> None:
        lane.take()
        with lane.calling(60_000):
            await go.wait()
        lane.give()

    calls = [asyncio.create_task(call()) for _ in range(2)]
    await until(lambda: lane.free == 1)
    await asyncio.sleep(0.8)
    assert (lane.aside, lane.running, lane.free) == (1, 1, 1)
    calls.append(asyncio.create_task(call()))
    await until(lambda: lane.free == 0)
    go.set()
    await asyncio.gather(*calls)
    assert (lane.aside, lane.running, lane.free) == (0, 0, 2)


async def test_a_lane_without_room_keeps_its_bound() -> None:
    lane = LaneSlots(Lane.SETTLE, 1, SystemClock())
    lane.take()
    with lane.calling(60_000):
        await asyncio.sleep(0.6)
        assert lane.free == 0


@pytest.mark.timeout(280)
async def test_a_scope_whose_sink_hangs_fills_to_its_cap_and_drains_in_order(new_store: NewStore) -> None:
    sink = Hanging()
    verdicts: dict[str, int] = defaultdict(int)

    def observe(trace: Trace) -> None:
        if isinstance(trace, VerdictReached):
            verdicts[trace.scope] += 1

    app = Attend(
        store=new_store(),
        kind=KINDS,
        sink=sink,
        settle={"delivery_timeout_ms": 300_000},
        observe=observe,
    )

    async def taken(scope: str, id: str) -> bool:
        try:
            return (await app.push(scope, [{"id": id, "name": "u"}])).accepted == 1
        except OutboxFullError as error:
            return error.lane != "outbox"

    async def decide(scope: str, count: int) -> int:
        """Decisions one after the other, until the scope takes no more; how many there were."""
        for n in range(count):
            if not await taken(scope, f"e{n}"):
                return n
            wanted = n + 1
            await until(lambda: verdicts[scope] >= wanted, 120)  # noqa: B023 - it is waited for here
        return count

    async with running(app):
        others = [asyncio.create_task(decide(f"s{n}", 5)) for n in range(100)]
        assert await decide("hung", 1500) == 1000
        assert await asyncio.gather(*others) == [5] * 100
        await until(lambda: sum(len(taken) for taken in sink.taken.values()) == 500, 120)
        assert sink.taken["hung"] == []
        state = await app.engine.state("hung")
        assert state is not None
        assert len(state.outbox) == 1000
        sink.let_go.set()
        await until(lambda: len(sink.taken["hung"]) == 1000, 120)
        assert sink.taken["hung"] == [f"e{n}" for n in range(1000)]
        assert all(
            taken == [f"e{n}" for n in range(5)] for scope, taken in sink.taken.items() if scope != "hung"
        )

        for _ in range(3000):
            if await taken("hung", "after"):
                break
            await asyncio.sleep(0.01)
        await until(lambda: sink.taken["hung"][-1] == "after")
