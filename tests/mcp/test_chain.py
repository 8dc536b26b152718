"""One attend's decisions are another one's events, whatever becomes of either and of the link between them."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import httpx
import pytest

from attend.client import START
from attend.mcp import DecisionFeed, decision_feed
from tests.proxy import Proxy
from tests.rig.service import Service

pytestmark = pytest.mark.anyio

STEPS = 6


class Chain:
    """Server A on a socket, server B on a port, and the proxy between them."""

    def __init__(self, folder: Path, proxy: Proxy) -> None:
        self._folder = folder
        source = {"url": f"{proxy.http_url}/mcp", "event": "attention.decision", "scope": "from/a"}
        self._source = json.dumps({**source, "token": "for-a"})
        self.a = self.start_a()
        self.b = self.start_b()

    def start_a(self) -> Service:
        """A, or a new one on what the last one left."""
        place = ("--socket", str(self._folder / "a"), "--data", str(self._folder / "a-data"))
        kinds = ("--kinds", '{"u":"flush"}', "--token", "for-a")
        return Service("serve", *place, *kinds, ready=r"unix:\S+", log=self._folder / "a.log")

    def start_b(self) -> Service:
        """B likewise."""
        place = ("--port", "0", "--data", str(self._folder / "b-data"))
        kinds = ("--kinds", '{"attention.decision":"flush"}')
        return Service("serve", *place, *kinds, "--source", self._source, log=self._folder / "b.log")

    async def tell(self, number: int) -> None:
        """Have A decide about this event."""
        transport = httpx.AsyncHTTPTransport(uds=str(self._folder / "a"))
        line = json.dumps({"scope": f"s/{number % 3}", "id": f"e{number}", "name": "u"})
        headers = {"authorization": "Bearer for-a", "content-type": "application/x-ndjson"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            answer = await http.post("/v1/ingest", content=line, timeout=60)
        assert answer.json()["accepted"] == 1, answer.text

    async def stop(self) -> None:
        """Both."""
        for service in (self.b, self.a):
            await asyncio.to_thread(service.stop)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="chain") as made:
        yield Path(made)


@pytest.fixture
async def chain(folder: Path, anyio_backend: str) -> AsyncGenerator[tuple[Chain, Proxy]]:
    """Both running, B reading A's decisions from the first on."""
    async with Proxy(str(folder / "a")) as proxy:
        made = Chain(folder, proxy)
        try:
            await asyncio.to_thread(made.a.wait_ready)
            await asyncio.to_thread(made.b.wait_ready)
            yield made, proxy
        finally:
            await made.stop()


async def read(feed: DecisionFeed, most: int) -> list[list[str]]:
    """The event ids of each decision until there are so many events, and of what comes in a second after them."""
    found: list[list[str]] = []

    async def collect() -> None:
        async for occurrence in feed:
            found.append(occurrence.data["eventIds"])

    task = asyncio.create_task(collect())
    try:
        async with asyncio.timeout(60):
            while sum(map(len, found)) < most:  # noqa: ASYNC110 - it does not say
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return found


async def test_nothing_is_lost_and_nothing_comes_twice(chain: tuple[Chain, Proxy]) -> None:
    servers, proxy = chain
    # Until B has its place in A's log there is nothing that it could miss.
    await asyncio.to_thread(wait_for_place, servers)
    number = 0

    async def tell(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            await servers.tell(number)

    await tell(STEPS)
    proxy.cut()
    await tell(STEPS)
    await asyncio.to_thread(servers.b.kill)
    await tell(STEPS)
    servers.b = servers.start_b()
    await asyncio.to_thread(servers.b.wait_ready)
    await tell(STEPS)
    await asyncio.to_thread(servers.a.kill)
    servers.a = servers.start_a()
    await asyncio.to_thread(servers.a.wait_ready)
    await tell(STEPS)
    proxy.refuse()
    proxy.cut()
    await tell(STEPS)
    proxy.refuse(False)

    first = decision_feed(proxy.http_url, token="for-a", cursor=START)
    sent = [occurrence async for occurrence in limited(first, number)]
    heard = await read(decision_feed(servers.b.url + "/mcp", cursor=START), number)
    ids = [id for decision in heard for id in decision]
    assert sorted(ids) == sorted(sent)
    assert len(set(ids)) == number

    again = decision_feed(proxy.http_url, token="for-a", cursor=first.cursor)
    await servers.tell(number + 1)
    assert len([occurrence async for occurrence in limited(again, 1)]) == 1


async def limited(feed: DecisionFeed, most: int) -> AsyncGenerator[str]:
    """The ids of so many decisions."""
    found = aiter(feed)
    for _ in range(most):
        yield (await asyncio.wait_for(anext(found), 60)).event_id
    await found.aclose()


def wait_for_place(servers: Chain) -> None:
    """Wait until B's scope is there: its cursor is committed."""
    for _ in range(600):
        answer = httpx.get(f"{servers.b.url}/v1/scopes/from%2Fa")
        if answer.status_code == 200:
            return
        time.sleep(0.1)
    raise AssertionError(f"B does not read: {servers.b.log.read_text()[-2000:]}")
