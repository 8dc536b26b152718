"""The official client, and others where they are installed, against a real server."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict

from attend.api import Server
from tests.api.conftest import Serve
from tests.api.rows import decide, decide_many
from tests.api.wire import EVENT

pytestmark = pytest.mark.anyio

KINDS = ("active", "event", "heartbeat", "error", "terminated")


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class _Request(Request[_Params, str]):
    pass


class _Result(Result):
    model_config = ConfigDict(extra="allow")


class _Frame(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Events(ClientExtension):
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

        return [binding(kind) for kind in KINDS]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for each, frame in self.frames if each == kind]


async def request(client: Any, method: str, **params: Any) -> dict[str, Any]:
    asked = _Request(method=method, params=_Params(**params))
    result = await client.session.send_request(asked, _Result, request_read_timeout_seconds=600)
    found: dict[str, Any] = result.model_dump()
    return found


async def met(condition: Any) -> None:
    with anyio.fail_after(30):
        while not condition():  # noqa: ASYNC110 - it does not say
            await anyio.sleep(0.02)


async def read_everything(client: Any, events: _Events, app: Any, server: Server) -> None:
    """List, poll, stream, cancel, stream until the server ends it, and the tools: what both clients must see."""
    assert [each["name"] for each in (await request(client, "events/list"))["events"]] == [EVENT]
    cursor = (await request(client, "events/poll", name=EVENT, arguments={}, cursor=None))["cursor"]
    made = await decide_many(app.store, 3)

    async with anyio.create_task_group() as tasks:

        async def stream() -> None:
            await request(client, "events/stream", name=EVENT, arguments={}, cursor=cursor)

        tasks.start_soon(stream)
        await met(lambda: len(events.of("event")) == 3 and events.of("heartbeat"))
        tasks.cancel_scope.cancel()
    assert [event["eventId"] for event in events.of("event")] == made
    assert len(events.of("active")) == 1
    await met(lambda: app.feed.waiting == 0)
    events.frames.clear()
    last = await decide(app.store)
    await anyio.sleep(0.5)
    assert events.frames == []

    tools = {tool.name: tool for tool in await listed(client)}
    assert set(tools) >= {"attend_wait", "attend_window", "attend_ack", "attend_push"}
    waited = await client.call_tool("attend_wait", {"cursor": cursor, "waitSeconds": 1})
    assert [each["decisionId"] for each in structured(waited)["decisions"]] == [*made, last]
    window = await client.call_tool("attend_window", {"decisionId": last})
    assert structured(window)["decisionId"] == last

    ends: list[dict[str, Any]] = []

    async def until_the_end() -> None:
        ends.append(await request(client, "events/stream", name=EVENT, arguments={}, cursor=None))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until_the_end)
        await met(lambda: events.of("active"))
        await server.close()
    assert len(ends) == 1


async def listed(client: Any) -> list[Any]:
    found = await client.list_tools()
    return list(getattr(found, "tools", found))


def structured(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = result.structured_content
    return found


async def test_the_official_client(served: Serve) -> None:
    async with served(run=False, heartbeat_ms=200) as (app, server):
        events = _Events()
        async with Client(f"{server.url()}/mcp", extensions=[events]) as client:
            await read_everything(client, events, app, server)


async def test_fastmcp(served: Serve) -> None:
    fastmcp = pytest.importorskip("fastmcp")
    async with served(run=False, heartbeat_ms=200) as (app, server):
        events = _Events()
        async with fastmcp.Client(f"{server.url()}/mcp", extensions=[events]) as client:
            await read_everything(client, events, app, server)


async def test_a_tool_says_what_is_wrong_with_its_arguments(served: Serve) -> None:
    async with served(run=False) as (_, server), Client(f"{server.url()}/mcp") as client:
        for name, arguments, hint in (
            ("attend_wait", {"waitSeconds": 46}, "waitSeconds"),
            ("attend_wait", {"waitSeconds": -1}, "waitSeconds"),
            ("attend_wait", {"cursor": 5}, "cursor"),
            ("attend_wait", {"max": 0}, "max"),
            ("attend_wait", {"scop": "x"}, "scop"),
            ("attend_window", {}, "decisionId"),
            ("attend_window", {"decisionId": "0" * 32}, "unknown"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert hint in getattr(result.content[0], "text", "")
