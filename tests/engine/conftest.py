"""Fresh stores for the engine: in memory, and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.engine.world import flush_server
from tests.servers import Server


@pytest.fixture(params=["memory", "valkey"])
async def new_store(
    request: pytest.FixtureRequest, anyio_backend: str
) -> AsyncIterator[Callable[[], ScopeStore]]:
    """Makes stores that share one empty world: each call is another process's view of it."""
    if request.param == "memory":
        store = MemoryStore()
        yield lambda: store
        return
    server: Server = request.getfixturevalue("valkey")
    flush_server(server)
    made: list[RedisStore] = []

    def make() -> ScopeStore:
        made.append(RedisStore(server.url))
        return made[-1]

    yield make
    for each in made:
        await each.close()
