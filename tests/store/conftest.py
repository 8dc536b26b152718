"""The stores that the conformance suite runs over."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis, FakeServer
from redis.asyncio import Redis

from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore

SERVERS = ["valkey", "redis_server", *(["other"] if os.environ.get("ATTEND_TEST_REDIS_URL") else [])]


@asynccontextmanager
async def client_of(url: str) -> AsyncGenerator[Any, None]:
    """A plain client on a flushed server, to look at keys and to break them."""
    client: Any = Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]
    try:
        await client.flushall()
        await client.script_flush()
        yield client
    finally:
        await client.aclose()


def url_of(name: str, request: pytest.FixtureRequest) -> str:
    """The URL of a server fixture; `other` is what ATTEND_TEST_REDIS_URL names."""
    if name == "other":
        return os.environ["ATTEND_TEST_REDIS_URL"]
    url: str = request.getfixturevalue(name).url
    return url


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> str:
    """A real server."""
    return url_of(request.param, request)


@pytest.fixture
async def raw(url: str, anyio_backend: str) -> AsyncIterator[Any]:
    """A plain client on the flushed real server."""
    async with client_of(url) as client:
        yield client


@pytest.fixture
async def redis_store(url: str, raw: Any) -> AsyncIterator[RedisStore]:
    """The Redis store on the real server."""
    store = RedisStore(url)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(params=["memory", "fakeredis", *SERVERS])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[ScopeStore]:
    """Every store there is, empty and open."""
    made: MemoryStore | RedisStore
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "fakeredis":
        client: Any = FakeAsyncRedis(server=FakeServer())
        made = RedisStore(client=client)
        await made.open()
        yield made
        await made.close()
        await client.aclose()
    else:
        url = url_of(request.param, request)
        async with client_of(url):
            made = RedisStore(url)
            await made.open()
            yield made
            await made.close()
