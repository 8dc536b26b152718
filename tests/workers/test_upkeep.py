"""Upkeep: the log trimmed, idle scopes forgotten, nothing that matters touched."""

from __future__ import annotations

import pytest

from attend.app import Attend
from attend.retention import Retention
from attend.settings import Settings
from attend.store.redis import RedisStore
from attend.workers.upkeep import Swept, sweep
from tests.engine.world import flush_server, logged, running, until
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio


async def test_the_log_is_trimmed_and_idle_scopes_are_forgotten(valkey: Server, anyio_backend: str) -> None:
    flush_server(valkey)
    kinds = {"u": "flush", "c": "closing"}
    app = Attend(store=RedisStore(valkey.url), kind=kinds, settle={"closing_grace_ms": 3_600_000})
    async with running(app):
        for n in range(30):
            await app.push(f"done{n}", [{"name": "u"}])
        await app.push("open", [{"name": "c"}])
        await app.push("noise", [{"name": "log"}])
        for _ in range(1000):
            if len(await logged(app.store)) == 30:
                break
            await until(lambda: True)
        now = app.clock.now()
        await until(lambda: app.clock.now() > now + 5)
        swept = await sweep(app, Settings(retain=Retention(rows=10), forget_ms=1))
        assert swept == Swept(rows=20, scopes=31)
        assert len(await logged(app.store)) == 10
        assert await app.engine.state("open") is not None
        assert await app.engine.state("done3") is None
        assert await app.engine.state("noise") is None
        # A forgotten scope is taken up again like a new one.
        assert (await app.push("done3", [{"id": "x", "name": "log"}])).accepted == 1
        assert await sweep(app, Settings()) == Swept()


async def test_a_scope_that_cannot_be_read_keeps_no_other_from_being_forgotten(
    valkey: Server, anyio_backend: str
) -> None:
    flush_server(valkey)
    app = Attend(store=RedisStore(valkey.url))
    async with app:
        for n in range(5):
            await app.push(f"s{n}", [{"name": "log"}])
        with plain_client(valkey.url) as client:
            client.hset("attend:{default}:s:s0", "snap", b"written by a newer attend")
            client.delete("attend:{default}:s:s1")
            client.set("attend:{default}:s:s1", "somebody's")
        now = app.clock.now()
        await until(lambda: app.clock.now() > now + 5)
        fresh = Attend(store=RedisStore(valkey.url))
        async with fresh:
            assert await sweep(fresh, Settings(forget_ms=1)) == Swept(scopes=3)
            assert await fresh.store.idle(now + 60_000, 10) == ["s0", "s1"]
