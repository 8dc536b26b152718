"""The store away: what was sent is settled when it is back, what waits is told in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from attend.core.input import Ticked
from attend.core.types import Kind, Lane
from attend.engine import Claim
from attend.errors import StoreUnavailableError
from attend.store.redis import RedisStore
from attend.trace import StoreBack, StoreLost, Trace
from tests.engine.world import engine_on, flush_server, pushed, until
from tests.proxy import Proxy
from tests.servers import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def proxy(valkey: Server, anyio_backend: str) -> AsyncIterator[Proxy]:
    """A link to an empty server."""
    flush_server(valkey)
    async with Proxy(valkey.path) as proxy:
        yield proxy


async def test_a_commit_whose_reply_was_lost_is_applied_once(proxy: Proxy, valkey: Server) -> None:
    store, direct = RedisStore(proxy.url), RedisStore(valkey.url)
    traces: list[Trace] = []
    async with engine_on(store, traces=traces) as engine, engine_on(direct) as other:
        applied = await engine.apply("s", [pushed("a")])
        for n in range(5):
            # It reaches the server, and the reply is cut off.
            proxy.delay = 0.05
            push = asyncio.create_task(engine.apply("s", [pushed(f"b{n}")]))
            await asyncio.sleep(0.08)
            proxy.cut()
            proxy.delay = 0
            applied = await push
            assert applied.committed
        state = await other.state("s")
        assert state is not None
        assert [each.id for each in state.open.events] == ["a", *(f"b{n}" for n in range(5))]
        assert state == applied.state
    assert any(isinstance(trace, StoreLost) for trace in traces)
    assert any(isinstance(trace, StoreBack) for trace in traces)
    await store.close()
    await direct.close()


async def test_an_impatient_caller_is_told_and_a_patient_one_waits(proxy: Proxy) -> None:
    store = RedisStore(proxy.url)
    async with engine_on(store, patience_ms=300) as engine:
        await engine.apply("s", [pushed("a", kind=Kind.FLUSH)])
        proxy.refuse()
        proxy.cut()
        now = engine.clock.now()
        claim = Claim(Lane.SETTLE, now, now + 60_000)
        tick = asyncio.create_task(engine.apply("s", [Ticked(Lane.SETTLE)], claim=claim, patient=True))
        started = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnavailableError):
            await engine.apply("s", [pushed("b")])
        with pytest.raises(StoreUnavailableError):
            await engine.apply("t", [pushed("c")])
        assert asyncio.get_running_loop().time() - started < 10
        assert not tick.done()
        proxy.refuse(False)
        assert (await tick).effects
        await engine.apply("t", [pushed("d")])
    await store.close()


async def test_a_cancelled_caller_leaves_nothing_behind(proxy: Proxy) -> None:
    store = RedisStore(proxy.url)
    async with engine_on(store) as engine:
        await engine.apply("s", [pushed("a")])
        proxy.refuse()
        proxy.cut()
        push = asyncio.create_task(engine.apply("s", [pushed("b")], patient=True))
        await asyncio.sleep(0.1)
        push.cancel()
        with pytest.raises(asyncio.CancelledError):
            await push
        proxy.refuse(False)
        applied = await engine.apply("s", [pushed("c")])
        assert [each.id for each in applied.state.open.events] in (["a", "c"], ["a", "b", "c"])
    await store.close()


async def test_after_connecting_there_is_a_quiet_time(proxy: Proxy) -> None:
    store = RedisStore(proxy.url)
    async with engine_on(store, quiet_ms=400) as engine:
        assert engine.link.quiet_ms > 0
        await until(lambda: engine.link.quiet_ms == 0)
        proxy.refuse()
        proxy.cut()
        push = asyncio.create_task(engine.apply("s", [pushed("a")]))
        await until(lambda: not engine.link.is_up)
        assert engine.link.quiet_ms > 0
        proxy.refuse(False)
        await push
        assert engine.link.quiet_ms > 0
        await until(lambda: engine.link.quiet_ms == 0)
    await store.close()
