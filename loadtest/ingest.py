"""Ingest over HTTP: events committed a second, attend's endpoint and the reference in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from loadtest.lines import Bodies
from loadtest.reference import PATH
from loadtest.report import Ratio
from loadtest.stage import Stage
from loadtest.wire import Connection, request

SCOPES = 100


class Shape(Struct, frozen=True):
    """How events are sent: so many in a body, on so many connections at once."""

    lines: int
    connections: int


BULK = Shape(lines=1000, connections=4)
SINGLE = Shape(lines=1, connections=16)


async def ingest(stage: Stage, api: str, shape: Shape, rounds: int, seconds: float) -> Ratio:
    """Events accepted a second by an API that has the reference beside it."""
    pairs = await stage.measure(
        "ingest",
        url=api,
        lines=shape.lines,
        connections=shape.connections,
        rounds=rounds,
        seconds=seconds,
    )
    return Ratio.of(msgspec.convert(pairs, list[tuple[float, float]]))


async def drive(
    url: str, lines: int, connections: int, rounds: int, seconds: float
) -> list[tuple[float, float]]:
    """In the client: events a second of attend and of the reference, for each round.

    A round that is not counted goes before: by then the windows are as full as they get.
    """
    open_now = [await Connection.open(url) for _ in range(connections)]
    bodies = Bodies(lines, SCOPES)
    found: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        rates = {"/v1/ingest": 0.0, PATH: 0.0}
        for path in sorted(rates, reverse=turn % 2 == 0):
            rates[path] = await _rate(open_now, path, bodies, lines, seconds)
        found.append((rates["/v1/ingest"], rates[PATH]))
    for connection in open_now:
        connection.close()
    return found[1:]


async def _rate(
    connections: list[Connection], path: str, bodies: Iterator[bytes], lines: int, seconds: float
) -> float:
    began = time.perf_counter()

    async def send(connection: Connection) -> int:
        count = 0
        while time.perf_counter() - began < seconds:
            status, answer = await connection.send(
                request(path, next(bodies), content_type="application/x-ndjson")
            )
            if status != 200 or msgspec.json.decode(answer)["accepted"] != lines:
                raise RuntimeError(f"{path} answered {status}: {answer[:500]!r}")
            count += lines
        return count

    accepted = sum(await asyncio.gather(*(send(connection) for connection in connections)))
    return accepted / (time.perf_counter() - began)
