"""An attend's decisions, one by one, from a cursor that is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from attend import Attend
from attend.api import Server, serve
from attend.client import START, Client
from attend.mcp import decision_feed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def served(anyio_backend: str) -> AsyncGenerator[tuple[Attend, Server]]:
    """An app that decides at each event, and its server."""
    app = Attend(kind={"u": "flush", "d": "closing"}, settle={"closing_grace_ms": 1})
    server = serve(app, port=0)
    await server.ready()
    yield app, server
    await server.close()
    await app.close()


async def test_it_goes_on_where_it_was(served: tuple[Attend, Server]) -> None:
    app, server = served
    feed = decision_feed(f"{server.url()}/mcp", cursor=START, scope="s")
    for id in ("a", "b"):
        await app.push("s", [{"name": "u", "id": id}])
        await app.push("other", [{"name": "u", "id": id}])
        await asyncio.sleep(0.2)
    found: list[list[str]] = []
    cursors: list[str | None] = []
    async for decision in feed:
        found.append(decision.data["eventIds"])
        cursors.append(feed.cursor)
        if len(found) == 2:
            break
    assert found == [["a"], ["b"]]
    async with Client(server.url()) as client:
        again = decision_feed(client, cursor=cursors[1], scope="s")
        async for decision in again:
            assert decision.data["eventIds"] == ["b"]
            break
        assert (await client.scope("s")) is not None


async def test_it_chooses(served: tuple[Attend, Server]) -> None:
    app, server = served
    feed = decision_feed(server.url(), cursor=START, routes=["interrupt"])
    await app.push("s", [{"name": "d", "id": "a"}])
    await asyncio.sleep(0.3)
    await app.push("s", [{"name": "u", "id": "b"}])
    async for decision in feed:
        assert decision.data["eventIds"] == ["b"]
        break
