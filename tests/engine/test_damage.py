"""Scopes whose keys were broken from outside, and servers that lose everything."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from attend.core.rules import Rules
from attend.core.types import Kind
from attend.errors import StateFormatError, StoreCorruptError
from attend.store.redis import RedisStore
from attend.trace import ScopeLost, Trace
from tests.engine.world import engine_on, flush_server, pushed
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(valkey: Server, anyio_backend: str) -> AsyncIterator[RedisStore]:
    """A store on an empty server."""
    flush_server(valkey)
    store = RedisStore(valkey.url)
    yield store
    await store.close()


async def test_a_lost_scope_starts_again_with_a_gap(store: RedisStore, valkey: Server) -> None:
    traces: list[Trace] = []
    async with engine_on(store, traces=traces) as engine:
        await engine.apply("s", [pushed("a", kind=Kind.CLOSING)])
        await engine.apply("s", [pushed("b")])
        with plain_client(valkey.url) as client:
            client.delete("attend:{default}:s:s")
        async with engine_on(store, traces=traces) as fresh:
            both = await fresh.apply_many({"s": [pushed("c")], "t": [pushed("d")]})
            assert not [each for each in both.values() if isinstance(each, Exception)]
            state = await fresh.state("s")
            assert state is not None
            assert state.open.gap
            assert [each.id for each in state.open.events] == ["c"]
            assert [each for each in traces if isinstance(each, ScopeLost)] == [ScopeLost("s")]
        # Whoever had it cached hears of it at its next commit.
        after = await engine.apply("s", [pushed("e")])
        assert [each.id for each in after.state.open.events] == ["c", "e"]


async def test_a_scope_lost_under_a_cached_state_starts_again(store: RedisStore, valkey: Server) -> None:
    traces: list[Trace] = []
    async with engine_on(store, traces=traces) as engine:
        await engine.apply("s", [pushed("a")])
        await engine.apply("s", [pushed("b")])
        with plain_client(valkey.url) as client:
            client.delete("attend:{default}:s:s")
        after = await engine.apply("s", [pushed("c")])
        assert [each.id for each in after.state.open.events] == ["c"]
        assert ScopeLost("s") in traces


async def test_a_key_of_another_type_is_that_scopes_error(store: RedisStore, valkey: Server) -> None:
    async with engine_on(store) as engine:
        with plain_client(valkey.url) as client:
            client.set("attend:{default}:s:bad", "x")
        results = await engine.apply_many({"bad": [pushed("a")], "good": [pushed("a")]})
        assert isinstance(results["bad"], StoreCorruptError)
        assert not isinstance(results["good"], Exception)


async def test_a_state_of_a_newer_attend_is_refused(store: RedisStore, valkey: Server) -> None:
    async with engine_on(store) as engine:
        await engine.apply("s", [pushed("a")])
    with plain_client(valkey.url) as client:
        client.hset("attend:{default}:s:s", "snap", b"\x81\xa6format\x7f")
    async with engine_on(store) as engine:
        with pytest.raises(StateFormatError):
            await engine.apply("s", [pushed("b")])


async def test_rules_that_nobody_knows_are_not_guessed_at(store: RedisStore, valkey: Server) -> None:
    async with engine_on(store, Rules(max_waits=7)) as engine:
        await engine.apply("s", [pushed("a")])
    with plain_client(valkey.url) as client:
        client.delete("attend:{default}:rules")
    async with engine_on(store, Rules(max_waits=8)) as engine:
        with pytest.raises(StateFormatError):
            await engine.apply("s", [pushed("b")])


async def test_a_server_that_lost_everything_is_filled_anew(store: RedisStore, valkey: Server) -> None:
    async with engine_on(store) as engine:
        await engine.apply("s", [pushed("a")])
        await engine.apply("s", [pushed("b")])
        flush_server(valkey)
        after = await engine.apply("s", [pushed("c")])
        assert [each.id for each in after.state.open.events] == ["c"]
