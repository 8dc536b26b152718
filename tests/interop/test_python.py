"""The official client and fastmcp's against a running `attend serve`: events by poll and by stream, and the tools."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict

from tests.interop.conftest import Decided
from tests.interop.npm import missing
from tests.rig.service import Service

pytestmark = pytest.mark.anyio

EVENT = "attention.decision"
KINDS = ("active", "event", "heartbeat", "error", "terminated")


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class _Request(Request[_Params, str]):
    pass


class _Result(Result):
    model_config = ConfigDict(extra="allow")


class _Frame(BaseModel):
    model_config = ConfigDict(extra="allow")


class Events(ClientExtension):
    """What an app that wants events hands to its client."""

    identifier = "io.modelcontextprotocol/events"

    def __init__(self) -> None:
        self.frames: list[tuple[str, dict[str, Any]]] = []

    def notifications(self) -> list[NotificationBinding[Any]]:
        """One for each kind of frame."""

        def binding(kind: str) -> NotificationBinding[Any]:
            async def take(frame: _Frame) -> None:
                self.frames.append((kind, frame.model_dump()))

            return NotificationBinding(
                method=f"notifications/events/{kind}", params_type=_Frame, handler=take
            )

        return [binding(kind) for kind in KINDS]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The frames of a kind."""
        return [frame for each, frame in self.frames if each == kind]


def connected(name: str, url: str, events: Events) -> AbstractAsyncContextManager[Any]:
    """A client of the package, connecting."""
    if name == "mcp":
        return Client(url, extensions=[events])
    try:
        fastmcp: Any = import_module("fastmcp")
    except ModuleNotFoundError:
        missing("fastmcp is not installed")
    client: AbstractAsyncContextManager[Any] = fastmcp.Client(url, extensions=[events])
    return client


async def ask(client: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request that the client has no method for."""
    asked = _Request(method=method, params=_Params(**params))
    result = await client.session.send_request(asked, _Result, request_read_timeout_seconds=600)
    found: dict[str, Any] = result.model_dump()
    return found


async def until(condition: Any) -> None:
    """Wait for a condition."""
    with anyio.fail_after(30):
        while not condition():  # noqa: ASYNC110 - it does not say
            await anyio.sleep(0.02)


@pytest.mark.parametrize("name", ["mcp", "fastmcp"])
async def test_it_hears_decisions(name: str, service: Service, scope: str, decided: Decided) -> None:
    made = await anyio.to_thread.run_sync(decided, 3)
    events = Events()
    async with connected(name, f"{service.url}/mcp", events) as client:
        listed = (await ask(client, "events/list"))["events"]
        assert [each["name"] for each in listed] == [EVENT]
        assert {"poll", "push"} <= set(listed[0]["delivery"])

        about = {"name": EVENT, "arguments": {"scope": scope}}
        fresh = await ask(client, "events/poll", **about, cursor=None)
        assert (fresh["events"], fresh["hasMore"], fresh["truncated"]) == ([], False, False)
        polled: list[str] = []
        page: dict[str, Any] = {"cursor": "start", "hasMore": True}
        while page["hasMore"]:
            page = await ask(client, "events/poll", **about, cursor=page["cursor"], maxEvents=1)
            polled += [each["eventId"] for each in page["events"]]
        assert polled == made

        with pytest.raises(MCPError) as caught:
            await ask(client, "events/poll", name="nope")
        assert (caught.value.code, caught.value.data) == (-32023, {"kind": "event"})

        live: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def stream() -> None:
                await ask(client, "events/stream", **about, cursor=fresh["cursor"])

            tasks.start_soon(stream)
            await until(lambda: events.of("active"))
            live += await anyio.to_thread.run_sync(decided, 2)
            await until(lambda: len(events.of("event")) == 2 and events.of("heartbeat"))
            tasks.cancel_scope.cancel()
        assert [event["eventId"] for event in events.of("event")] == live
        assert events.frames[0][0] == "active"
        events.frames.clear()
        last = await anyio.to_thread.run_sync(decided, 1)
        await anyio.sleep(0.8)
        assert events.frames == []

        waited = await client.call_tool("attend_wait", {"scope": scope, "cursor": "start", "waitSeconds": 0})
        assert [each["decisionId"] for each in waited.structured_content["decisions"]] == [
            *made,
            *live,
            *last,
        ]
        window = await client.call_tool("attend_window", {"decisionId": made[0]})
        assert window.structured_content["decisionId"] == made[0]
