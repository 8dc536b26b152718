"""From a flush to its decision on an open stream, through API and worker processes."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time

import msgspec

from loadtest.lines import line
from loadtest.pace import steadily, until
from loadtest.report import Latency
from loadtest.stage import Stage
from loadtest.stream import frames
from loadtest.wire import Connection, request

PER_SECOND = 50
FLUSH = "user.said"
KINDS = {FLUSH: "flush", "task.ended": "closing"}
SCOPES = 100
_WARM_UP = 20


async def flush_to_decision(stage: Stage, api: str, count: int) -> Latency:
    """Milliseconds from sending a flush to an API until its decision is on a stream of the same API."""
    found = await stage.measure("flush", url=api, count=count)
    return Latency.of(msgspec.convert(found, list[float]))


async def drive(url: str, count: int) -> list[float]:
    """In the client: the milliseconds of each flush, some to warm up not counted."""
    run = secrets.token_hex(4)
    sent: dict[str, float] = {}
    heard: dict[str, float] = {}
    active = asyncio.Event()

    async def listen() -> None:
        async for kind, params in frames(url):
            if kind == "active":
                active.set()
            elif kind == "event":
                now = time.perf_counter()
                heard.update(dict.fromkeys(params["data"]["eventIds"], now))

    listening = asyncio.create_task(listen())
    opened = asyncio.create_task(active.wait())
    await asyncio.wait((listening, opened), timeout=30, return_when=asyncio.FIRST_COMPLETED)
    if not active.is_set():
        listening.result()
    free = [await Connection.open(url) for _ in range(16)]
    sending: set[asyncio.Task[None]] = set()

    async def send(id: str, scope: str) -> None:
        connection = free.pop()
        sent[id] = time.perf_counter()
        status, answer = await connection.send(request("/v1/ingest", line(scope, id, FLUSH)))
        free.append(connection)
        if status != 200 or msgspec.json.decode(answer)["accepted"] != 1:
            raise RuntimeError(f"a flush was answered {status}: {answer!r}")

    scopes = itertools.cycle(f"talk/{n:03}" for n in range(SCOPES))
    async for n in steadily(count + _WARM_UP, PER_SECOND):
        task = asyncio.create_task(send(f"{run}-{n}", next(scopes)))
        sending.add(task)
    await asyncio.gather(*sending)
    await until(lambda: len(heard) >= count + _WARM_UP)
    listening.cancel()
    return [(heard[id] - sent[id]) * 1000 for id in list(sent)[_WARM_UP:]]
