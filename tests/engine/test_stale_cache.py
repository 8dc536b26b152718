"""What a process remembers of a scope is no answer by itself: others change it, and a server may lose it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from attend.core.effect import Call, Deliver, Judge
from attend.core.input import Delivered, Judged, Pushed, Ticked
from attend.core.rules import Rules
from attend.core.step import Taken
from attend.core.types import Event, Judgment, Kind, Lane
from attend.engine import Applied, Engine
from attend.errors import StoreCorruptError, StoreUnavailableError
from attend.store.base import Outcome, Write
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.engine.world import engine_on, flush_server, pushed
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def engines(server: Server, rules: Rules) -> AsyncGenerator[tuple[Engine, Engine]]:
    """Two processes' engines on one empty server."""
    flush_server(server)
    one, other = RedisStore(server.url), RedisStore(server.url)
    async with engine_on(one, rules) as first, engine_on(other, rules) as second:
        yield first, second
    await one.close()
    await other.close()


def taken(applied: Applied) -> Taken:
    """A push's reply."""
    reply = applied.replies[0]
    assert isinstance(reply, Taken)
    return reply


async def test_a_lane_that_another_process_drained_is_no_longer_full(valkey: Server) -> None:
    rules = Rules(sink=True, max_outbox=1)
    async with engines(valkey, rules) as (api, worker):
        await api.apply("s", [pushed("a", kind=Kind.FLUSH)])
        [judge] = (await worker.apply("s", [Ticked(Lane.SETTLE)])).effects
        await worker.apply("s", [_verdict(judge)])
        assert taken(await api.apply("s", [pushed("b")])).full == "outbox"
        [deliver] = (await worker.apply("s", [Ticked(Lane.DELIVER)])).effects
        assert taken(await api.apply("s", [pushed("c")])).full == "outbox"
        assert isinstance(deliver, Deliver)
        await worker.apply("s", [Delivered(Lane.DELIVER, deliver.id)])
        assert taken(await api.apply("s", [pushed("d")])).accepted == 1


async def test_what_a_server_lost_is_no_duplicate_when_it_is_sent_again(valkey: Server) -> None:
    async with engines(valkey, Rules()) as (api, _):
        await api.apply("s", [pushed("a")])
        assert taken(await api.apply("s", [pushed("a")])).duplicates == (0,)
        flush_server(valkey)
        assert taken(await api.apply("s", [pushed("a")])).accepted == 1
        assert taken(await api.apply("s", [pushed("a")])).duplicates == (0,)


async def test_a_scope_that_cannot_be_written_costs_its_group_nothing(valkey: Server) -> None:
    async with engines(valkey, Rules()) as (api, _):
        # Half a surrogate pair: no event that was checked has it, and no MessagePack can hold it.
        odd = Pushed((Event("\ud800", "n", Kind.CONSEQUENCE, 0),))
        inputs = {"a": [pushed("1")], "odd": [odd], "b": [pushed("1")]}
        results = await asyncio.wait_for(api.apply_many(inputs, patient=True), 10)
        assert isinstance(results["odd"], UnicodeEncodeError)
        for scope in ("a", "b"):
            assert isinstance(results[scope], Applied)
            assert await api.state(scope) is not None


async def test_each_scope_of_a_large_batch_has_a_result_where_no_commit_can_be(valkey: Server) -> None:
    async with engines(valkey, Rules()) as (api, _):
        with plain_client(valkey.url) as client:
            client.delete("attend:{default}:scopes")
            client.set("attend:{default}:scopes", "somebody's")
        names = [f"s{n}" for n in range(300)]
        results = await api.apply_many({name: [pushed("1")] for name in names})
        assert results.keys() == set(names)
        assert all(isinstance(result, StoreCorruptError) for result in results.values())


async def test_closing_tells_everyone_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    called = asyncio.Event()

    async def commit(writes: Sequence[Write]) -> list[Outcome]:
        called.set()
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(store, "commit", commit)
    async with engine_on(store) as engine:
        # Each more than half of what one commit carries, so the first is on its way when the next is ready.
        large = Pushed((Event("1", "n", Kind.CONSEQUENCE, 0, text="x" * 600_000),))
        pushes = [asyncio.create_task(engine.apply(f"s{n}", [large], patient=True)) for n in range(6)]
        await called.wait()
        await engine.close()
        async with asyncio.timeout(10):
            results = await asyncio.gather(*pushes, return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailableError}


def _verdict(call: Call) -> Judged:
    assert isinstance(call, Judge)
    return Judged(call.window.id, call.token, Judgment("queue"))
