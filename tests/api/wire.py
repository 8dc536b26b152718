"""The wire as a plain HTTP client sees it: ingest bodies, MCP requests and the frames of a stream."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

EVENT = "attention.decision"
VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"


def request_of(method: str, params: Mapping[str, Any], id: int | str) -> dict[str, Any]:
    """A JSON-RPC request with the envelope that MCP asks for."""
    meta: dict[str, Any] = {
        f"{META}protocolVersion": VERSION,
        f"{META}clientInfo": {"name": "test", "version": "1"},
        f"{META}clientCapabilities": {"extensions": {f"{META}events": {}}},
    }
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}


def headers_of(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The headers that go with it."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
    }
    named = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    if named is not None:
        headers["Mcp-Name"] = params[named]
    return headers


class Wire:
    """A client of one server."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self._ids = itertools.count(1)

    async def ingest(self, body: bytes, **headers: str) -> httpx.Response:
        """`POST /v1/ingest`."""
        return await self.client.post("/v1/ingest", content=body, headers=headers)

    async def post(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        id: int | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One MCP request, and the whole answer."""
        given = params or {}
        return await self.client.post(
            "/mcp",
            json=request_of(method, given, next(self._ids) if id is None else id),
            headers={**headers_of(method, given), **(headers or {})},
        )

    async def result(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result of an MCP request, whether it came as JSON or at the end of a stream."""
        answer = await self.post(method, params)
        text = answer.text
        if answer.headers["content-type"].startswith("text/event-stream"):
            text = [line for line in text.splitlines() if line.startswith("data: ")][-1].removeprefix(
                "data: "
            )
        found: dict[str, Any] = json.loads(text)["result"]
        return found

    async def error(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The error of an MCP request, which came as JSON."""
        answer = await self.post(method, params)
        assert answer.headers["content-type"] == "application/json"
        found: dict[str, Any] = answer.json()["error"]
        return found

    async def poll(
        self, cursor: str | None, arguments: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """`events/poll`."""
        return await self.result(
            "events/poll", {"name": EVENT, "arguments": arguments or {}, "cursor": cursor, **more}
        )

    async def drain(self, cursor: str | None, **more: Any) -> tuple[list[dict[str, Any]], str]:
        """Poll until there is no more."""
        events: list[dict[str, Any]] = []
        while True:
            page = await self.poll(cursor, **more)
            events += page["events"]
            cursor = page["cursor"]
            if not page["hasMore"]:
                assert cursor is not None
                return events, cursor

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured answer."""
        result = await self.result("tools/call", {"name": name, "arguments": arguments})
        assert not result["isError"], result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        found: dict[str, Any] = result["structuredContent"]
        return found

    @asynccontextmanager
    async def stream(
        self,
        cursor: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        id: int | str = 7,
        **more: Any,
    ) -> AsyncGenerator[Frames]:
        """`events/stream`, open."""
        params = {"name": EVENT, "arguments": arguments or {}, "cursor": cursor, **more}
        async with self._open("events/stream", params, id) as frames:
            yield frames

    @asynccontextmanager
    async def listen(self, *uris: str, id: int | str = 7, **more: Any) -> AsyncGenerator[Frames]:
        """`subscriptions/listen`, open."""
        asked = {**({"resourceSubscriptions": list(uris)} if uris else {}), **more}
        async with self._open("subscriptions/listen", {"notifications": asked}, id) as frames:
            yield frames

    @asynccontextmanager
    async def _open(self, method: str, params: Mapping[str, Any], id: int | str) -> AsyncGenerator[Frames]:
        async with self.client.stream(
            "POST", "/mcp", json=request_of(method, params, id), headers=headers_of(method, params)
        ) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream"), await answer.aread()
            yield Frames(answer)


class Frames:
    """The data frames of an open stream, each as its kind and its parameters."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines: AsyncIterator[str] = answer.aiter_lines()

    async def next(self, *kinds: str, seconds: float = 30) -> tuple[str, dict[str, Any]]:
        """The next frame, of these kinds where some are named. A result is of the kind `result`."""
        with anyio.fail_after(seconds):
            async for line in self._lines:
                if line.startswith("data: "):
                    frame = json.loads(line.removeprefix("data: "))
                    kind = frame.get("method", "/result").rpartition("/")[2]
                    if not kinds or kind in kinds:
                        return kind, frame["result"] if kind == "result" else frame["params"]
        raise EOFError("the stream ended")

    async def events(self, count: int) -> list[dict[str, Any]]:
        """The next events."""
        return [(await self.next("event"))[1] for _ in range(count)]


@asynccontextmanager
async def wire(url: str, token: str | None = None) -> AsyncGenerator[Wire]:
    """A client of the server at a URL."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as client:
        yield Wire(client)
