"""The ways by which an agent hears, each going on where it was once whoever it asked is gone."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import httpx

from attend.client import Client
from attend.client.wire import TroubleError, request
from attend.errors import UnreachableError
from tests.rig.reader import until

PAUSE = 0.2
"""Seconds until the next one is asked."""


class Heard:
    """What one way brought, as it came: what it was, in the order it was told, and the cursors beside it."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.cursors: list[str] = []
        self.truncated = 0

    def ids(self, key: str) -> list[str]:
        """What is under a key of each, whose names are the same for the same thing."""
        return [each[key] for each in self.told]

    async def has(self, key: str, wanted: Collection[str]) -> None:
        """Wait until all of these were told. Raises `TimeoutError` where they are not."""
        await until(lambda: set(self.ids(key)) >= set(wanted), seconds=90)


class Agent:
    """One token at several APIs, of which any may be down: each call goes to the next one until it is answered."""

    def __init__(self, urls: Sequence[str], token: str) -> None:
        self._urls = urls
        self._token = token
        self._clients = [Client(url, token) for url in urls]
        self._turn = 0

    async def close(self) -> None:
        """Let go of the connections."""
        for client in self._clients:
            await client.close()

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answered."""
        while True:
            try:
                answer = await self._clients[self._next()].tool(name, arguments)
            except UnreachableError:
                await anyio.sleep(PAUSE)
                continue
            if not answer.get("isError"):
                found: dict[str, Any] = answer["structuredContent"]
                return found
            # A store that is away is the only thing wrong with these calls.
            assert "again" in answer["content"][0]["text"], answer
            await anyio.sleep(PAUSE)

    async def decisions(self, n: int, mode: Literal["stream", "poll"], start: str, heard: Heard) -> None:
        """Decisions of the n-th API by one way, with the iterator that connects again by itself."""
        source = self._clients[n].decisions(start, mode=mode, wait=True)
        heard.cursors.append(start)
        async for occurrence in source:
            assert occurrence.event_id == occurrence.data["decisionId"]
            heard.told.append(occurrence.data)
            heard.cursors.append(occurrence.cursor or source.cursor or "")
            heard.truncated = source.truncated

    async def waits(self, start: str, heard: Heard) -> None:
        """Decisions by `attend_wait`, again and again."""
        heard.cursors.append(start)
        while True:
            answer = await self.tool("attend_wait", cursor=heard.cursors[-1], waitSeconds=5)
            heard.told += answer["decisions"]
            heard.cursors.append(answer["cursor"])
            heard.truncated += answer["truncated"]

    async def asks(self, start: str, heard: Heard) -> None:
        """News by `list_attention`, again and again."""
        heard.cursors.append(start)
        while True:
            answer = await self.tool("list_attention", since=heard.cursors[-1], waitSeconds=5)
            heard.told += answer["news"]
            heard.cursors += [each["cursor"] for each in answer["news"]] + [answer["cursor"]]
            heard.truncated += answer["truncated"]

    async def listens(self, uri: str, heard: Heard) -> None:
        """News by reading a resource, when it is told to: once it is subscribed, and at each notification."""
        while True:
            url = self._urls[self._next()]
            try:
                await self._listen(url, uri, heard)
            except TroubleError:
                await anyio.sleep(PAUSE)

    async def _listen(self, url: str, uri: str, heard: Heard) -> None:
        asked = {"notifications": {"resourceSubscriptions": [uri]}}
        async with self._http(url) as http, request(http, url, "subscriptions/listen", asked) as messages:
            async for message in messages:
                if message.kind in ("acknowledged", "updated"):
                    content = await self._read(http, url, uri)
                    heard.told += content["latest"]
                    heard.cursors.append(content["cursor"])

    async def _read(self, http: httpx.AsyncClient, url: str, uri: str) -> dict[str, Any]:
        async with request(http, url, "resources/read", {"uri": uri}, named=uri) as messages:
            answers = [message.result async for message in messages if message.result is not None]
        if not answers:
            raise TroubleError("the answer broke off")
        content: dict[str, Any] = json.loads(answers[-1]["contents"][0]["text"])
        return content

    @asynccontextmanager
    async def _http(self, url: str) -> AsyncGenerator[httpx.AsyncClient]:
        headers = {"authorization": f"Bearer {self._token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
            yield http

    def _next(self) -> int:
        self._turn += 1
        return self._turn % len(self._urls)
