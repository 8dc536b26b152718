"""Stores and served apps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import redis.asyncio

from attend import Attend
from attend.api import ApiSettings, Server, serve
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests import servers

KINDS = {"user.*": "flush", "build.*": "closing"}

Serve = Callable[..., AbstractAsyncContextManager[tuple[Attend, Server]]]


@pytest.fixture(params=["memory", "valkey"])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncGenerator[ScopeStore]:
    """An empty store of each kind, open."""
    if request.param == "memory":
        made: ScopeStore = MemoryStore()
    else:
        server: servers.Server = request.getfixturevalue("valkey")
        client: Any = redis.asyncio.Redis(unix_socket_path=server.path)
        async with client:
            await client.flushall()
        made = RedisStore(server.url)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def served() -> Serve:
    """Serve an app on a free port: `async with served(store, heartbeat_ms=300) as (app, server)`."""

    @asynccontextmanager
    async def start(
        store: ScopeStore | None = None, *, app: Attend | None = None, run: bool = True, **settings: Any
    ) -> AsyncGenerator[tuple[Attend, Server]]:
        made = app or Attend(store=store, kind=KINDS)
        server = serve(made, ApiSettings(**settings), port=0, run=run)
        try:
            await server.ready()
            yield made, server
        finally:
            await server.close()
            await made.close()

    return start
