"""Every store passes the crash suites of `attend.testing`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import count

import fakeredis
import pytest

from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from attend.testing import crash_suite, multi_scope_crash_suite
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(280)]

MakeStore = Callable[[], ScopeStore]


@pytest.fixture(params=["memory", "valkey", "redis_server", "fakeredis"])
async def make_store(request: pytest.FixtureRequest) -> AsyncIterator[MakeStore]:
    """Makes empty stores of one kind."""
    made: list[RedisStore] = []
    numbers = count()

    def make() -> ScopeStore:
        if request.param == "memory":
            return MemoryStore()
        if request.param == "fakeredis":
            client = fakeredis.FakeAsyncRedis(server=fakeredis.FakeServer())
            store = RedisStore("redis://fake", prefix="crash", client=client)
        else:
            server: Server = request.getfixturevalue(request.param)
            store = RedisStore(server.url, prefix=f"crash{next(numbers)}-{id(made)}")
        made.append(store)
        return store

    yield make
    for store in made:
        await store.close()


@pytest.mark.parametrize("name", [case.name for case in crash_suite(MemoryStore)])
async def test_one_scope_survives_crashes(name: str, make_store: MakeStore) -> None:
    [case] = [case for case in crash_suite(make_store) if case.name == name]
    await case.run()


@pytest.mark.parametrize("name", [case.name for case in multi_scope_crash_suite(MemoryStore)])
async def test_several_scopes_survive_crashes(name: str, make_store: MakeStore) -> None:
    [case] = [case for case in multi_scope_crash_suite(make_store) if case.name == name]
    await case.run()
