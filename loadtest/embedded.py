"""From a flush to its handler, with attend in the process that has both."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time

import msgspec

from attend import Attend, Decision, RedisStore
from loadtest.flush import FLUSH, KINDS, PER_SECOND, SCOPES
from loadtest.pace import steadily, until
from loadtest.report import Latency
from loadtest.stage import Stage

_WARM_UP = 20


async def flush_to_handler(stage: Stage, count: int) -> Latency:
    """Milliseconds from pushing a flush until the handler is called with its decision."""
    found = await stage.measure("embedded", url=stage.url, count=count)
    return Latency.of(msgspec.convert(found, list[float]))


async def drive(url: str, count: int) -> list[float]:
    """In a process with attend embedded, its store in Redis: the milliseconds of each flush."""
    run = secrets.token_hex(4)
    pushed: dict[str, float] = {}
    handled: dict[str, float] = {}

    async def handle(decision: Decision) -> None:
        handled.update(dict.fromkeys(decision.event_ids, time.perf_counter()))

    async with Attend(store=RedisStore(url, prefix="embedded"), kind=KINDS, sink=handle) as app:
        running = asyncio.create_task(app.run())
        pushing: set[asyncio.Task[object]] = set()
        scopes = itertools.cycle(f"talk/{n:03}" for n in range(SCOPES))
        async for n in steadily(count + _WARM_UP, PER_SECOND):
            id = f"{run}-{n}"
            pushed[id] = time.perf_counter()
            event = {"id": id, "name": FLUSH, "text": "is the build green?"}
            pushing.add(asyncio.create_task(app.push(next(scopes), [event])))
        await asyncio.gather(*pushing)
        await until(lambda: len(handled) >= count + _WARM_UP)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return [(handled[id] - pushed[id]) * 1000 for id in list(pushed)[_WARM_UP:]]
