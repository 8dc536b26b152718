"""The official client with `attend mcp` as a command of its own: events by poll and by stream, and the tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from attend import Attend
from attend.app import from_settings
from attend.settings import Settings
from tests.api.wire import request_of
from tests.interop.test_python import EVENT, Events, ask, until
from tests.servers import Server

KINDS = {"user.*": "flush"}
SCOPE = "interop/stdio"
BEAT = ("--heartbeat-ms", "300")


@pytest.fixture
def settings(valkey: Server, tmp_path: Path) -> Settings:
    """A deployment of the test's own."""
    return Settings(store=valkey.url, prefix=tmp_path.name, kinds=KINDS)


@pytest.fixture
def options(settings: Settings) -> list[str]:
    """How a command is told of it."""
    assert settings.store is not None
    return ["--store", settings.store, "--prefix", settings.prefix, "--kinds", json.dumps(KINDS)]


@pytest.fixture
def worker(options: list[str]) -> Iterator[None]:
    """Judges what comes."""
    command = [sys.executable, "-m", "attend", "worker", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield
    process.terminate()
    process.wait(30)


@pytest.fixture
async def app(settings: Settings, anyio_backend: str) -> AsyncGenerator[Attend]:
    """What events are pushed with."""
    made = from_settings(settings, asks=False)
    yield made
    await made.close()


def started(options: list[str]) -> subprocess.Popen[bytes]:
    """The command, with both pipes."""
    command = [sys.executable, "-m", "attend", "mcp", *options, *BEAT]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@pytest.mark.anyio
@pytest.mark.usefixtures("worker")
async def test_it_hears_decisions_over_pipes(options: list[str], app: Attend) -> None:
    events = Events()
    command = StdioServerParameters(command=sys.executable, args=["-m", "attend", "mcp", *options, *BEAT])
    async with Client(stdio_client(command), extensions=[events]) as client:
        listed = (await ask(client, "events/list"))["events"]
        assert [(each["name"], each["delivery"]) for each in listed] == [(EVENT, ["poll", "push"])]
        about: dict[str, Any] = {"name": EVENT, "arguments": {"scope": SCOPE}}
        fresh = (await ask(client, "events/poll", **about, cursor=None))["cursor"]

        async def push(id: str) -> None:
            await app.push(SCOPE, [{"id": id, "name": "user.said", "text": "look here"}])

        async def polled(count: int) -> list[str]:
            with anyio.fail_after(60):
                while True:
                    page = await ask(client, "events/poll", **about, cursor=fresh, timeoutMs=500)
                    if len(page["events"]) >= count:
                        return [each["eventId"] for each in page["events"]]

        made: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def stream() -> None:
                await ask(client, "events/stream", **about, cursor=fresh)

            tasks.start_soon(stream)
            await until(lambda: events.of("active"))
            await push("e1")
            made = await polled(1)
            await until(lambda: events.of("event") and events.of("heartbeat"))
            tasks.cancel_scope.cancel()
        assert [each["eventId"] for each in events.of("event")] == made
        assert events.frames[0][0] == "active"
        # An answer to what was asked after the cancel: all before it has come.
        await ask(client, "events/list")
        events.frames.clear()
        await push("e2")
        made = await polled(2)
        await anyio.sleep(0.8)
        assert events.frames == []
        window = await client.call_tool("attend_window", {"decisionId": made[1]})
        assert window.structured_content is not None
        assert window.structured_content["decisionId"] == made[1]


@pytest.mark.parametrize("how", ["end", "SIGTERM", "SIGINT"])
def test_it_writes_nothing_but_messages_and_ends_when_told(options: list[str], how: str) -> None:
    process = started(options)
    assert process.stdin is not None
    assert process.stdout is not None
    asked = [
        request_of("server/discover", {}, 1),
        request_of("events/stream", {"name": EVENT, "cursor": None}, "s-2"),
    ]
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
    process.stdin.flush()
    messages: list[dict[str, Any]] = []
    while [each.get("method") for each in messages][-1:] != ["notifications/events/heartbeat"]:
        messages.append(json.loads(process.stdout.readline()))
    assert messages[0]["id"] == 1
    assert messages[0]["result"]["capabilities"]["events"] == {}
    assert {each["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for each in messages[1:]} == {
        "s-2"
    }
    if how == "end":
        process.stdin.close()
    else:
        os.kill(process.pid, getattr(signal, how))
    assert process.wait(30) == 0
    for line in process.stdout:
        assert json.loads(line)["jsonrpc"] == "2.0"
    process.stdin.close()
    process.stdout.close()
