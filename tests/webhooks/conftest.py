"""Receivers, and served apps that deliver to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import redis.asyncio

from attend import Attend
from attend.api import ApiSettings, Server, serve
from attend.core.subscription import WebhookRules
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests import servers
from tests.api.wire import wire
from tests.webhooks.receiver import Receiver
from tests.webhooks.subscriber import Subscriber

TOKEN = "a-token-of-a-test"
LOCAL: dict[str, Any] = {"local": True, "retry_ms": (100, 200, 300), "timeout_ms": 2000}

Deliver = Callable[..., AbstractAsyncContextManager[Subscriber]]


@pytest.fixture
def new_receiver() -> Iterator[Callable[..., Receiver]]:
    """Makes receivers."""
    made: list[Receiver] = []

    def make(*arguments: Any, **options: Any) -> Receiver:
        made.append(Receiver(*arguments, **options))
        return made[-1]

    yield make
    for receiver in made:
        receiver.close()


@pytest.fixture
def receiver(new_receiver: Callable[..., Receiver]) -> Receiver:
    """One that takes everything."""
    return new_receiver()


@pytest.fixture(params=["memory", "valkey"])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncGenerator[ScopeStore]:
    """An empty store of each kind, open."""
    made: ScopeStore = MemoryStore()
    if request.param == "valkey":
        server: servers.Server = request.getfixturevalue("valkey")
        client: Any = redis.asyncio.Redis(unix_socket_path=server.path)
        async with client:
            await client.flushall()
        made = RedisStore(server.url)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def delivering() -> Deliver:
    """Serve an app on a store and deliver: `async with delivering(store, retry_ms=(100,)) as subscriber`."""

    @asynccontextmanager
    async def start(
        store: ScopeStore | None = None,
        *,
        token: str | None = TOKEN,
        api: dict[str, Any] | None = None,
        run: bool = True,
        **rules: Any,
    ) -> AsyncGenerator[Subscriber]:
        app = Attend(store=store or MemoryStore(), webhooks=WebhookRules(**{**LOCAL, **rules}))
        server: Server = serve(app, ApiSettings(token=token, **(api or {})), port=0, run=run)
        try:
            await server.ready()
            async with wire(server.url(), token) as client:
                yield Subscriber(app, client)
        finally:
            await server.close()
            await app.close()

    return start
