"""Upkeep: the log trimmed, idle scopes forgotten, nothing that matters touched."""

from __future__ import annotations

import pytest

from attend.app import Attend
from attend.settings import Settings
from attend.store.redis import RedisStore
from attend.workers.upkeep import Swept, sweep
from tests.engine.world import flush_server, logged, running, until
from tests.servers import Server

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
        swept = await sweep(app, Settings(retain_rows=10, forget_ms=1))
        assert swept == Swept(rows=20, scopes=31)
        assert len(await logged(app.store)) == 10
        assert await app.engine.state("open") is not None
        assert await app.engine.state("done3") is None
        assert await app.engine.state("noise") is None
        # A forgotten scope is taken up again like a new one.
        assert (await app.push("done3", [{"id": "x", "name": "log"}])).accepted == 1
        assert await sweep(app, Settings()) == Swept()
