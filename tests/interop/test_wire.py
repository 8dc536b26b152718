"""What a client of one's own sees on the wire of a running `attend serve`."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.api.wire import EVENT, Wire
from tests.interop.conftest import Decided
from tests.rig.service import Service, post

pytestmark = pytest.mark.anyio

OLD = "gAAAAABnotacursor"


@asynccontextmanager
async def wire_to(url: str, path: str = "/mcp") -> AsyncGenerator[Wire]:
    """A client of it; `path` is where it looks for MCP."""

    async def moved(request: httpx.Request) -> None:
        if request.url.path == "/mcp":
            request.url = request.url.copy_with(path=path)

    hooks: Any = {"request": [moved]}
    async with httpx.AsyncClient(base_url=url, event_hooks=hooks, timeout=30) as http:
        yield Wire(http)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_polls(path: str, service: Service, scope: str, decided: Decided) -> None:
    async with wire_to(service.url, path) as wire:
        found = await wire.result("server/discover")
        assert "io.modelcontextprotocol/events" in found["capabilities"]["extensions"]
        assert "events" in found["capabilities"]
        (kind,) = (await wire.result("events/list"))["events"]
        assert {"delivery", "inputSchema", "payloadSchema"} <= set(kind)

        about = {"scope": scope}
        first = await wire.poll(None, about)
        assert (first["resultType"], first["events"]) == ("complete", [])
        absent = await wire.result("events/poll", {"name": EVENT, "arguments": about})
        assert (absent["events"], type(absent["cursor"])) == ([], str)
        made = await anyio.to_thread.run_sync(decided, 3)
        page = await wire.poll(first["cursor"], about, maxEvents=1)
        assert page["hasMore"]
        assert page["cursor"] != first["cursor"]
        drained, _ = await wire.drain(first["cursor"], arguments=about, maxEvents=1)
        assert [each["eventId"] for each in drained] == made
        for cursor in ("garbage", OLD):
            lost = await wire.poll(cursor, about)
            assert lost["truncated"] is True
            assert lost["cursor"]


async def test_errors(service: Service) -> None:
    async with wire_to(service.url) as wire:
        for method in ("events/poll", "events/stream"):
            error = await wire.error(method, {"name": "nope"})
            assert (error["code"], error["data"]) == (-32023, {"kind": "event"})
        wrong = await wire.post("events/poll", {"name": EVENT, "arguments": {"scop": "x"}})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, -32602)
        for headers, status in (
            ({"origin": "http://evil.example"}, 403),
            ({"host": "example.com"}, 421),
            ({"Mcp-Method": "tools/list"}, 400),
        ):
            answer = await wire.post("events/list", headers=headers)
            assert answer.status_code == status, headers
        assert (await wire.client.get("/mcp")).status_code == 405


async def test_streams(service: Service, scope: str, decided: Decided) -> None:
    about = {"scope": scope}
    async with (
        wire_to(service.url) as wire,
        wire.stream(None, about, id=1) as one,
        wire.stream(None, {"scope": "elsewhere"}, id=1) as other,
        wire.stream(None, about, id="s-8") as text,
    ):
        for frames, id in ((one, 1), (other, 1), (text, "s-8")):
            kind, params = await frames.next()
            assert (kind, params["_meta"]["io.modelcontextprotocol/subscriptionId"]) == ("active", id)
        (made,) = await anyio.to_thread.run_sync(decided, 1)
        for frames in (one, text):
            assert (await frames.next("event"))[1]["eventId"] == made
        assert (await other.next())[0] == "heartbeat"


async def test_a_server_that_ends_says_so_and_the_next_one_goes_on() -> None:
    with tempfile.TemporaryDirectory(prefix="interop") as folder:
        data = ("--data", str(Path(folder) / "data"), "--port", "0", "--kinds", '{"u":"flush"}')
        service = Service("serve", *data, log=Path(folder) / "log")
        try:
            await anyio.to_thread.run_sync(service.wait_ready)
            async with wire_to(service.url) as wire, wire.stream(id=7) as frames:
                cursor = (await frames.next("active"))[1]["cursor"]
                stopped: list[int] = []
                result: dict[str, Any] = {}
                async with anyio.create_task_group() as tasks:

                    async def stop() -> None:
                        stopped.append(await anyio.to_thread.run_sync(service.stop))

                    tasks.start_soon(stop)
                    result = (await frames.next("result"))[1]
                assert result["_meta"]["io.modelcontextprotocol/subscriptionId"] == 7
            assert stopped == [0]
            service = Service("serve", *data, log=Path(folder) / "log")
            await anyio.to_thread.run_sync(service.wait_ready)
            await anyio.to_thread.run_sync(post, service.url, [b'{"scope":"s","id":"e","name":"u"}'])
            async with wire_to(service.url) as wire, wire.stream(cursor) as frames:
                assert (await frames.next("active"))[1]["truncated"] is False
                assert (await frames.next("event"))[1]["data"]["scope"] == "s"
        finally:
            await anyio.to_thread.run_sync(service.stop)
