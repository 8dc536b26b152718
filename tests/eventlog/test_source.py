"""A log of events attached to a scope: read on where the scope stands, whatever happens in between."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from attend import Attend, Decision, EventLog, NewEvent, Taken, log_source, memory_log, redis_log
from attend.store.base import ScopeStore
from attend.testing import fake_clock
from tests.engine.conftest import new_store
from tests.engine.world import running, until
from tests.servers import Server

__all__ = ["new_store"]

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

_numbers = itertools.count()


@pytest.fixture(params=["memory", "valkey"])
async def log(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[EventLog]:
    """Each log, empty."""
    made: EventLog = memory_log()
    if request.param == "valkey":
        server: Server = request.getfixturevalue("valkey")
        made = redis_log(server.url, prefix=f"source{next(_numbers)}")
    yield made
    await made.close()


class Inbox:
    """What was delivered."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.open = asyncio.Event()
        self.open.set()

    async def deliver(self, decision: Decision) -> None:
        """Keep it, once the inbox is open."""
        await self.open.wait()
        self.decisions.append(decision)

    @property
    def ids(self) -> list[str]:
        """The ids of all events, as they came."""
        return [id for decision in self.decisions for id in decision.event_ids]


def attached(app: Attend, log: EventLog) -> asyncio.Task[None]:
    """The log read into the scope, in the background."""
    return asyncio.create_task(app.attach("s", log_source(log, "s", poll_ms=20)))


async def ended(task: asyncio.Task[None]) -> None:
    """The same, ended."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def app_on(store: ScopeStore, inbox: Inbox, **settle: int) -> Attend:
    """An app whose flushes reach the inbox."""
    return Attend(
        store=store, kind={"u": "flush"}, sink=inbox, settle={"retry_backoff_ms": (20, 20), **settle}
    )


async def test_what_producers_append_is_decided_about(log: EventLog, new_store: NewStore) -> None:
    inbox = Inbox()
    await log.append("s", [{"id": "before", "name": "u"}])
    async with running(app_on(new_store(), inbox)) as app:
        source = attached(app, log)
        await until(lambda: inbox.ids == ["before"])
        await log.append("other", [{"id": "x", "name": "u"}])
        await log.append("s", [{"id": "a", "name": "log"}, {"id": "b", "name": "u", "text": "hello"}])
        await until(lambda: inbox.ids == ["before", "a", "b"])
        assert "hello" in inbox.decisions[-1].notice
        await ended(source)


async def test_a_source_goes_on_where_its_scope_stands(log: EventLog, new_store: NewStore) -> None:
    inbox = Inbox()
    for n in range(3):
        async with running(app_on(new_store(), inbox)) as app:
            source = attached(app, log)
            await log.append("s", [{"name": "u", "text": f"{n}"}])
            await until(lambda: len(inbox.ids) >= 1 + n)  # noqa: B023 - it is waited for here
            await ended(source)
            state = await app.engine.state("s")
            assert state is not None
            assert list(state.cursors) == ["log"]
            # What it has read it does not read again, so not even a duplicate comes.
            assert (await log.read("s", state.cursors["log"], 10)).events == ()
    assert len(set(inbox.ids)) == len(inbox.ids) == 3


async def test_events_that_were_trimmed_unread_are_a_gap_in_the_window(
    log: EventLog, new_store: NewStore
) -> None:
    inbox = Inbox()
    async with running(app_on(new_store(), inbox)) as app:
        source = attached(app, log)
        await log.append("s", [{"id": "a", "name": "u"}])
        await until(lambda: inbox.ids == ["a"])
        await ended(source)
        await log.append("s", [{"id": "lost", "name": "u"}, {"id": "b", "name": "u"}])
        await log.trim("s", 1)
        source = attached(app, log)
        await until(lambda: inbox.ids == ["a", "b"])
        assert [decision.gap for decision in inbox.decisions] == [False, True]
        await ended(source)


async def test_a_full_outbox_stops_the_reading_until_it_drains(log: EventLog, new_store: NewStore) -> None:
    inbox = Inbox()
    inbox.open.clear()
    async with running(app_on(new_store(), inbox, max_outbox=1)) as app:
        source = attached(app, log)
        await log.append("s", [{"id": "a", "name": "u"}])

        for _ in range(3000):
            state = await app.engine.state("s")
            if state is not None and state.outbox:
                break
            await asyncio.sleep(0.01)
        await log.append("s", [{"id": f"b{n}", "name": "u"} for n in range(3)])
        await asyncio.sleep(0.3)
        assert inbox.ids == []
        inbox.open.set()
        await until(lambda: inbox.ids == ["a", "b0", "b1", "b2"])
        await ended(source)


async def test_on_another_clock_it_looks_again_and_again(log: EventLog) -> None:
    clock = fake_clock()
    taken: list[str | None] = []

    async def emit(
        events: Iterable[NewEvent | Mapping[str, Any]], cursor: str | None, *, gap: bool = False
    ) -> Taken:
        new = [event for event in events if isinstance(event, NewEvent)]
        taken.extend(event.id for event in new)
        return Taken(len(new))

    task = asyncio.create_task(log_source(log, "s", clock=clock, poll_ms=1000).run(None, emit))
    await until(lambda: clock.next_at is not None)
    await log.append("s", [{"id": "a", "name": "u"}])
    await asyncio.sleep(0.1)
    assert taken == []
    await clock.advance(1000)
    await until(lambda: taken == ["a"])
    await ended(task)
