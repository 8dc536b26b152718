"""On the way out: calls get their grace, leases are handed back, verdicts are kept over an outage."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from attend.app import Attend
from attend.core.types import Judgment
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.store.base import ScopeStore
from attend.store.redis import RedisStore
from tests.engine.world import flush_server, logged, running, until
from tests.proxy import Proxy
from tests.servers import Server

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]


async def stopped(run: asyncio.Task[None]) -> None:
    """Cancel a runner and wait for its end."""
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run


async def test_a_lease_is_handed_back_and_the_next_start_counts_as_the_first(new_store: NewStore) -> None:
    starts: list[int] = []

    async def judge(input: JudgeInput) -> Judgment:
        starts.append(input.starts)
        if len(starts) == 1:
            await asyncio.sleep(600)
        return await rule(input)

    first = Attend(store=new_store(), kind={"u": "flush"}, judge=judge, grace_ms=50)
    run = asyncio.create_task(first.run())
    await first.push("s", [{"name": "u"}])
    await until(lambda: starts == [1])
    await stopped(run)
    state = await first.engine.state("s")
    assert state is not None
    assert state.slot is not None
    assert state.slot.attempt.leased_until is None
    async with running(Attend(store=new_store(), kind={"u": "flush"}, judge=judge)) as second:
        await until(lambda: starts == [1, 1])
        for _ in range(500):
            if await logged(second.store):
                break
            await asyncio.sleep(0.01)
        assert [row.starts for row in await logged(second.store)] == [1]
    await first.close()


async def test_a_call_that_ends_within_the_grace_counts(new_store: NewStore) -> None:
    called = asyncio.Event()

    async def judge(input: JudgeInput) -> Judgment:
        called.set()
        await asyncio.sleep(0.3)
        return await rule(input)

    app = Attend(store=new_store(), kind={"u": "flush"}, judge=judge, grace_ms=20_000)
    run = asyncio.create_task(app.run())
    await app.push("s", [{"name": "u"}])
    await called.wait()
    await stopped(run)
    assert len(await logged(app.store)) == 1
    await app.close()


async def test_a_judge_that_cannot_be_cancelled_does_not_hold_up_the_end(new_store: NewStore) -> None:
    called, over = asyncio.Event(), asyncio.Event()

    async def deaf(input: JudgeInput) -> Judgment:
        called.set()
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()
        return await rule(input)

    app = Attend(store=new_store(), kind={"u": "flush"}, judge=deaf, grace_ms=50)
    run = asyncio.create_task(app.run())
    await app.push("s", [{"name": "u"}])
    await called.wait()
    async with asyncio.timeout(30):
        await stopped(run)
        over.set()
        await app.close()


@pytest.fixture
async def proxy(valkey: Server, anyio_backend: str) -> AsyncIterator[Proxy]:
    """A link to an empty server."""
    flush_server(valkey)
    async with Proxy(valkey.path) as proxy:
        yield proxy


async def test_a_verdict_outlives_an_outage_and_its_lease(proxy: Proxy, valkey: Server) -> None:
    calls: list[int] = []
    answer = asyncio.Event()

    async def judge(input: JudgeInput) -> Judgment:
        calls.append(input.starts)
        await answer.wait()
        return await rule(input)

    settle = {"judge_timeout_ms": 500, "retry_backoff_ms": (10,)}
    app = Attend(store=RedisStore(proxy.url), kind={"u": "flush"}, judge=judge, settle=settle)
    direct = RedisStore(valkey.url)
    await direct.open()
    async with running(app):
        await app.push("s", [{"name": "u"}])
        await until(lambda: bool(calls))
        proxy.refuse()
        proxy.cut()
        answer.set()
        # Longer than the lease of twice the judge's time.
        await asyncio.sleep(1.5)
        proxy.refuse(False)
        for _ in range(2000):
            if await logged(direct):
                break
            await asyncio.sleep(0.01)
        assert [(row.scope, row.starts) for row in await logged(direct)] == [("s", 1)]
        assert calls == [1]
    await direct.close()
