"""An agent's side of attend: the official MCP SDK's client, reading decisions by poll and by stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict

EVENT = "attention.decision"


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class _Request(Request[_Params, str]):
    pass


class _Result(Result):
    model_config = ConfigDict(extra="allow")


class _Frame(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Events(ClientExtension):
    """The Events extension's notifications, in the order this client was handed them."""

    identifier = "io.modelcontextprotocol/events"

    def __init__(self) -> None:
        self.frames: list[tuple[str, dict[str, Any]]] = []

    def notifications(self) -> list[NotificationBinding[Any]]:
        def binding(kind: str) -> NotificationBinding[Any]:
            async def take(frame: _Frame) -> None:
                self.frames.append((kind, frame.model_dump()))

            return NotificationBinding(
                method=f"notifications/events/{kind}", params_type=_Frame, handler=take
            )

        return [binding(kind) for kind in ("active", "event", "heartbeat", "error", "terminated")]


class Reader:
    """A connected client and the decisions it has seen, as occurrences in the order they came."""

    def __init__(self, client: Client, events: _Events) -> None:
        self._client = client
        self._events = events
        self.cursor: str | None = None
        self.polled: list[dict[str, Any]] = []
        self.truncated = 0

    @property
    def streamed(self) -> list[dict[str, Any]]:
        """What came over the stream so far."""
        return [frame for kind, frame in self._events.frames if kind == "event"]

    @property
    def active(self) -> bool:
        """Whether the stream has begun."""
        return any(kind == "active" for kind, _ in self._events.frames)

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """One request of any method; its result as a dict."""
        request = _Request(method=method, params=_Params(**params))
        result = await self._client.session.send_request(request, _Result, request_read_timeout_seconds=600)
        return result.model_dump()

    async def poll(self, max_events: int = 50) -> int:
        """Poll until there is no more; how many decisions that brought."""
        count = 0
        while True:
            page = await self.request(
                "events/poll", name=EVENT, arguments={}, cursor=self.cursor, maxEvents=max_events
            )
            self.truncated += bool(page["truncated"])
            self.cursor = page["cursor"]
            self.polled += page["events"]
            count += len(page["events"])
            if not page["hasMore"]:
                return count

    async def stream(self) -> None:
        """Read the stream from now on, until cancelled or the server ends it."""
        await self.request("events/stream", name=EVENT, arguments={}, cursor=None)

    async def window(self, decision_id: str) -> list[dict[str, Any]]:
        """Every event of a decision's window, page after page, from the tool's exact JSON text."""
        events: list[dict[str, Any]] = []
        arguments: dict[str, Any] = {"decisionId": decision_id}
        while True:
            result = await self._client.call_tool("attend_window", arguments)
            assert not result.is_error, result
            page = json.loads(result.content[0].text)  # type: ignore[union-attr]
            events += page["events"]
            if page.get("nextCursor") is None:
                return events
            arguments = {"decisionId": decision_id, "cursor": page["nextCursor"]}


@asynccontextmanager
async def reader(url: str) -> AsyncGenerator[Reader]:
    """A client connected to `<url>/mcp`."""
    events = _Events()
    async with Client(f"{url}/mcp", extensions=[events]) as client:
        yield Reader(client, events)


async def until(condition: Any, *, seconds: float = 60, every: float = 0.1) -> None:
    """Wait for a condition, a plain or an async function."""
    with anyio.fail_after(seconds):
        while True:
            met = condition()
            if hasattr(met, "__await__"):
                met = await met
            if met:
                return
            await anyio.sleep(every)
