"""What engine tests are told in: events, engines, things waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from attend.app import Attend
from attend.clock import SystemClock
from attend.core import codec
from attend.core.input import Pushed
from attend.core.rules import Rules
from attend.core.types import Event, Kind, Summary
from attend.engine import Engine
from attend.store.base import ScopeStore
from attend.trace import Trace
from tests.servers import Server, plain_client


def flush_server(server: Server) -> None:
    """Empty a shared server."""
    with plain_client(server.url) as client:
        client.flushall()


def event(id: str, kind: Kind = Kind.CONSEQUENCE, text: str | None = None) -> Event:
    """An event."""
    return Event(id, kind.value, kind, 0, text=text)


def pushed(*ids: str, kind: Kind = Kind.CONSEQUENCE) -> Pushed:
    """A push of events with these ids."""
    return Pushed(tuple(event(id, kind) for id in ids))


@asynccontextmanager
async def engine_on(
    store: ScopeStore,
    rules: Rules | None = None,
    traces: list[Trace] | None = None,
    *,
    patience_ms: int = 5000,
    quiet_ms: int = 0,
) -> AsyncGenerator[Engine, None]:
    """A started engine."""
    observe = None if traces is None else traces.append
    engine = Engine(
        store, rules or Rules(), SystemClock(), observe, patience_ms=patience_ms, quiet_ms=quiet_ms
    )
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def running(app: Attend) -> AsyncGenerator[Attend, None]:
    """An app whose runner runs; it is cancelled and the app closed at the end."""
    await app.start()
    run = asyncio.create_task(app.run())
    try:
        yield app
        if run.done():
            run.result()
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        await app.close()


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition; fails after a generous time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        await asyncio.sleep(0.005)


async def logged(store: ScopeStore) -> list[Summary]:
    """Every decision in the log."""
    page = await store.log.read(await store.log.start(), 10_000)
    return [codec.decode_summary(row.summary) for row in page.rows]
