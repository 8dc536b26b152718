"""Scope runs a second of one worker with the rule judge, beside the jobs a second of one arq worker."""

from __future__ import annotations

import asyncio
import signal
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from arq import create_pool
from arq.connections import ArqRedis, RedisSettings
from arq.constants import default_queue_name, expires_extra_ms, job_key_prefix
from arq.jobs import serialize_job
from redis.asyncio import Redis

from attend import Attend, RedisStore
from attend.core.types import Lane
from attend.store.keys import Keys
from loadtest.pace import ticks
from loadtest.report import Ratio
from loadtest.stage import Stage

PREFIX = "worker"
KIND = {"task.ended": "closing"}
GRACE_MS = 1000
"""All of a round's scopes are pushed before the first is due; jobs are deferred by as much."""

FIRST, LAST = 0.9, 0.1
"""The rate is measured between these shares of a round's work left: starting and running dry do not count."""


async def runs(stage: Stage, rounds: int, count: int) -> Ratio:
    """Both workers' rates over a queue of `count`, in turn. Each is alone at work, the other one idle."""
    pairs: list[tuple[float, float]] = []
    async with _scopes(stage) as scopes, _jobs(stage) as jobs:
        for turn in range(rounds):
            sides = [scopes, jobs] if turn % 2 else [jobs, scopes]
            rates = {side: await side.rate(f"{turn}", count) for side in sides}
            pairs.append((rates[scopes], rates[jobs]))
    return Ratio.of(pairs)


class _Side:
    """One worker's queue: a sorted set that shrinks as work is done."""

    def __init__(self, client: Any, queue: str, worker: Process) -> None:
        self._client = client
        self._queue = queue
        self._worker = worker

    async def fill(self, name: str, count: int) -> None:
        raise NotImplementedError

    async def rate(self, name: str, count: int) -> float:
        """Pieces of work done a second."""
        await self.fill(name, count)
        began_at = await self._when_left(count * FIRST)
        ended_at = await self._when_left(count * LAST)
        await self._when_left(0)
        (began, first), (ended, last) = began_at, ended_at
        return (first - last) / (ended - began)

    async def _when_left(self, most: float) -> tuple[float, int]:
        async for _ in ticks(120, every=0.005):
            if self._worker.returncode is not None:
                raise RuntimeError(f"the worker ended with {self._worker.returncode}")
            left = await self._client.zcard(self._queue)
            if left <= most:
                return time.perf_counter(), left
        raise TimeoutError("the queue was not worked off in two minutes")


class _Scopes(_Side):
    """attend: a window of three events in each scope, all due at about the same time."""

    def __init__(self, client: Any, app: Attend, worker: Process) -> None:
        super().__init__(client, Keys(PREFIX).due(Lane.SETTLE), worker)
        self._app = app

    async def fill(self, name: str, count: int) -> None:
        """Push to `count` scopes that nobody pushed to before."""
        names = ("tool.finished", "tool.finished", "task.ended")
        for start in range(0, count, 500):
            await asyncio.gather(
                *(
                    self._app.push(f"run/{name}/{n}", [{"name": each, "text": "12 passed"} for each in names])
                    for n in range(start, min(start + 500, count))
                )
            )


class _Jobs(_Side):
    """arq: jobs without arguments, all due at about the same time."""

    def __init__(self, client: ArqRedis, worker: Process) -> None:
        super().__init__(client, default_queue_name, worker)
        self._pool = client

    async def fill(self, name: str, count: int) -> None:
        """Write `count` jobs as arq's `enqueue_job` does, in one go."""
        now = int(time.time() * 1000)
        async with self._pool.pipeline(transaction=False) as pipeline:
            for n in range(count):
                job = serialize_job("nothing", (), {}, None, now)
                pipeline.psetex(f"{job_key_prefix}{name}-{n}", expires_extra_ms, job)
                pipeline.zadd(default_queue_name, {f"{name}-{n}": now + GRACE_MS})
            await pipeline.execute()


@asynccontextmanager
async def _scopes(stage: Stage) -> AsyncGenerator[_Side]:
    settle = {"closing_grace_ms": GRACE_MS}
    worker = await stage.start(
        *("-m", "attend", "worker", "--store", stage.url, "--prefix", PREFIX),
        *("--kinds", '{"task.ended":"closing"}', "--settle", f"closing_grace_ms={GRACE_MS}"),
    )
    client: Any = Redis.from_url(stage.url)  # pyright: ignore[reportUnknownMemberType]
    store = RedisStore(stage.url, prefix=PREFIX)
    async with client, Attend(store=store, kind=KIND, settle=settle) as app:
        scopes = _Scopes(client, app, worker)
        await scopes.rate("warm-up", 100)
        yield scopes
    await stage.stop(worker)


@asynccontextmanager
async def _jobs(stage: Stage) -> AsyncGenerator[_Side]:
    socket = stage.url.removeprefix("unix://")
    worker = await stage.start("-m", "loadtest.noop", socket)
    pool = await create_pool(RedisSettings(unix_socket_path=socket))
    async with pool:
        jobs = _Paused(pool, worker)
        await jobs.rate("warm-up", 100)
        yield jobs
    worker.send_signal(signal.SIGCONT)
    await stage.stop(worker)


class _Paused(_Jobs):
    """With the worker stopped between rounds: it looks for work a hundred times a second."""

    async def rate(self, name: str, count: int) -> float:
        """As ever."""
        self._worker.send_signal(signal.SIGCONT)
        try:
            return await super().rate(name, count)
        finally:
            self._worker.send_signal(signal.SIGSTOP)
