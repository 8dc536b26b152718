"""Every figure in turn, on one database server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

import msgspec
from msgspec import Struct

from loadtest.deadsink import dead_sink
from loadtest.embedded import flush_to_handler
from loadtest.flush import KINDS, flush_to_decision
from loadtest.ingest import BULK, SINGLE, ingest
from loadtest.report import REACH, Figure
from loadtest.settle import settle_lag
from loadtest.stage import Stage
from loadtest.worker import runs


class Effort(Struct, frozen=True, kw_only=True):
    """How much is measured: rounds of ingest and their seconds a side, rounds of the worker and its runs a round,
    how many flushes and settles are timed, and beside a dead sink the rounds, the deliveries a side, and the cap that
    the outbox behind it fills to."""

    ingest_rounds: int
    ingest_seconds: float
    worker_rounds: int
    worker_runs: int
    flushes: int
    settles: int
    dead_rounds: int
    dead_deliveries: int
    dead_cap: int


QUICK = Effort(
    ingest_rounds=4,
    ingest_seconds=0.5,
    worker_rounds=3,
    worker_runs=800,
    flushes=100,
    settles=60,
    dead_rounds=5,
    dead_deliveries=100,
    dead_cap=100,
)
FULL = Effort(
    ingest_rounds=15,
    ingest_seconds=2,
    worker_rounds=9,
    worker_runs=5000,
    flushes=1000,
    settles=500,
    dead_rounds=9,
    dead_deliveries=500,
    dead_cap=1000,
)


async def measure(effort: Effort, names: Collection[str]) -> AsyncIterator[tuple[str, Figure]]:
    """The figures of these names, in the order of `REACH`, each as soon as it is known."""
    async with Stage() as stage:
        for name in REACH:
            if name in names:
                yield name, await _measure(name, stage, effort)


async def _measure(name: str, stage: Stage, effort: Effort) -> Figure:
    if name in ("bulk_ingest", "single_ingest"):
        api, url = await stage.serve("-m", "loadtest.target", stage.url)
        shape = BULK if name == "bulk_ingest" else SINGLE
        figure = await ingest(stage, url, shape, effort.ingest_rounds, effort.ingest_seconds)
        await stage.stop(api)
        return figure
    if name == "worker":
        return await runs(stage, effort.worker_rounds, effort.worker_runs)
    if name == "flush_to_decision":
        return await _flush_to_decision(stage, effort)
    if name == "flush_to_decision_embedded":
        return await flush_to_handler(stage, effort.flushes)
    if name == "behind_a_dead_sink":
        return await dead_sink(stage, effort.dead_rounds, effort.dead_deliveries, effort.dead_cap)
    return await settle_lag(stage, effort.settles, behind_sinks=name == "settle_lag_behind_sinks")


async def _flush_to_decision(stage: Stage, effort: Effort) -> Figure:
    shared = ("--store", stage.url, "--prefix", "flush", "--kinds", msgspec.json.encode(KINDS).decode())
    worker = await stage.start("-m", "attend", "worker", *shared)
    api, url = await stage.serve("-m", "attend", "api", *shared, "--port", "0")
    figure = await flush_to_decision(stage, url, effort.flushes)
    await stage.stop(api)
    await stage.stop(worker)
    return figure
