"""Faults of long-lived connections that users of such systems reported."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio import to_thread

from attend import Attend
from attend.api import ApiSettings, serve
from attend.client import Client
from tests.api.rows import decide
from tests.api.wire import META, Wire, wire
from tests.cases.conftest import KINDS
from tests.proxy import Proxy
from tests.rig.lines_open import open_lines
from tests.rig.reader import until
from tests.rig.service import Service
from tests.servers import bundled_binary, free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


class Follower:
    """One that reads the stream, and goes on at its cursor when the server ended it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cursor: str | None = None
        self.seen: list[str] = []
        self.ended = False

    async def follow(self, client: Wire, wanted: Collection[str] = ()) -> None:
        """Read until the server ends it in good order, or all of these events have come, if any are named."""
        self.ended = False
        async with client.stream(self.cursor, id=self.number) as frames:
            while True:
                kind, frame = await frames.next("active", "event", "result", seconds=120)
                if kind == "result":
                    assert frame["_meta"][f"{META}subscriptionId"] == self.number
                    self.ended = True
                    return
                assert not frame.get("truncated")
                self.cursor = frame["cursor"]
                if kind == "event":
                    self.seen += frame["data"]["eventIds"]
                    if wanted and set(wanted) <= set(self.seen):
                        return


async def test_one_sigterm_ends_it_with_everyone_connected_and_each_goes_on(tmp_path: Path) -> None:
    """With a client still connected the server never finished shutting down; a second interrupt did not help."""
    bundled_binary()
    port = free_port()
    flags = ("--data", str(tmp_path / "data"), "--port", str(port), "--kinds", KINDS)

    def start() -> Service:
        return Service("serve", *flags, log=tmp_path / "log").wait_ready()

    first = await to_thread.run_sync(start)
    followers = [Follower(number) for number in range(10)]
    waits: list[dict[str, Any]] = []
    sent: list[str] = []
    stop_sending = anyio.Event()
    ended: list[tuple[int, float]] = []

    async with Client(first.url) as pusher, pusher.stream() as lines, wire(first.url) as client:
        start_cursor = (await client.poll(None))["cursor"]

        async def wait() -> None:
            waits.append(await client.tool("attend_wait", cursor=start_cursor, scope="none", waitSeconds=45))

        async def send() -> None:
            while not stop_sending.is_set():
                id = f"e{len(sent)}"
                await lines.send({"scope": f"s/{len(sent) % 3}", "id": id, "name": "say"})
                sent.append(id)
                await anyio.sleep(0.05)

        async with anyio.create_task_group() as work:
            async with anyio.create_task_group() as readers:
                for follower in followers:
                    readers.start_soon(follower.follow, client)
                for _ in range(5):
                    readers.start_soon(wait)
                await until(lambda: all(follower.cursor for follower in followers))
                work.start_soon(send)  # From here on nobody may miss one.
                await until(lambda: all(len(follower.seen) > 5 for follower in followers))
                async with open_lines(first.url) as other:
                    began = time.monotonic()
                    code = await to_thread.run_sync(first.stop)
                    ended.append((code, time.monotonic() - began))
                    assert (await other.error())["error"] == "shutting_down"
            [(code, took)] = ended
            assert code == 0, (tmp_path / "log").read_text()
            assert took < 7.5, "the grace is 5 s, and the server of its own ends after it"
            assert all(follower.ended for follower in followers)
            assert [(each["timedOut"], each["cursor"] != "") for each in waits] == [(True, True)] * 5
            second = await to_thread.run_sync(start)
            try:
                await anyio.sleep(1)
                stop_sending.set()
                await lines.settle()
                last = {"scope": "s/0", "id": "last", "name": "say"}
                await lines.send(last)
                await lines.settle()
                async with wire(second.url) as again, anyio.create_task_group() as readers:
                    for follower in followers:
                        readers.start_soon(follower.follow, again, [*sent, "last"])
                for follower in followers:
                    assert sorted(follower.seen) == sorted([*sent, "last"])
                    assert follower.seen == followers[0].seen
            finally:
                assert await to_thread.run_sync(second.stop) == 0
        assert lines.reply.rejected == []
        assert lines.reply.accepted + lines.reply.duplicates == len(sent) + 1


async def test_a_proxy_that_closes_silent_connections_closes_none(tmp_path: Path) -> None:
    """Idle connections were cut after minutes because nothing was sent, and calls failed from then on."""
    app = Attend()
    server = serve(app, ApiSettings(heartbeat_ms=400), socket=str(tmp_path / "s"))
    await server.ready()
    try:
        async with Proxy(str(tmp_path / "s")) as proxy:
            proxy.silence = 3.0
            async with wire(proxy.http_url) as client, open_lines(proxy.http_url) as lines:
                async with client.stream() as frames:
                    for name in ("cache-control", "x-accel-buffering"):
                        assert frames.answer.headers[name] in ("no-cache, no-transform", "no")
                    _, active = await frames.next("active")
                    beats = [await frames.next("heartbeat") for _ in range(20)]  # Some 8 s of silence.
                    assert {beat["cursor"] for _, beat in beats} == {active["cursor"]}
                    made = await decide(app.store)
                    [event] = await frames.events(1)
                    assert event["eventId"] == made
                await lines.send(b'{"scope":"s","name":"n"}\n')
                await lines.ack(1)
                assert len(lines.frames) > 10
            # The proxy does what it says: a connection that says nothing is closed.
            assert proxy.closed_silent == 0
            async with httpx.AsyncClient(base_url=proxy.http_url) as idle:
                await idle.get("/healthz")
                await until(lambda: proxy.closed_silent == 1)
    finally:
        await server.close()
        await app.close()
