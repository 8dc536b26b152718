"""Starting and stopping: as a library call, on a socket, and as a process."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio import to_thread

from attend import Attend
from attend.api import ApiSettings, serve
from attend.errors import ConfigError, StoreUnavailableError
from attend.store.redis import RedisStore
from tests.api.conftest import Serve
from tests.api.rows import decide, decide_many
from tests.api.wire import META, Frames, Wire, wire
from tests.rig.service import Service
from tests.servers import Server

pytestmark = pytest.mark.anyio


async def test_an_app_is_served_as_a_library_call() -> None:
    app = Attend(kind={"user.*": "flush"})
    server = serve(app, port=0)
    await server.ready()
    async with wire(server.url()) as client:
        cursor = (await client.poll(None))["cursor"]
        await app.push("s", [{"id": "a", "name": "user.said"}])
        page = await client.poll(cursor, timeoutMs=20_000)
        assert page["events"][0]["data"]["eventIds"] == ["a"]
    await server.close()
    await server.close()
    await app.push("s", [{"id": "b", "name": "log.line"}])
    await app.close()


async def test_a_port_that_is_taken_is_said_so(served: Serve) -> None:
    async with served(run=False) as (app, server):
        with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1 port"):
            serve(app, port=httpx.URL(server.url()).port or 0)


async def test_a_store_that_is_away_keeps_it_from_starting(tmp_path: Path) -> None:
    app = Attend(store=RedisStore(f"unix://{tmp_path}/nothing", timeout_ms=300))
    server = serve(app, port=0)
    with pytest.raises(StoreUnavailableError):
        await server.ready()
    await server.close()
    await app.close()


async def test_a_unix_socket_is_its_users_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "attend.sock")
    for _ in range(2):
        app = Attend()
        server = serve(app, socket=path, run=False)
        await server.ready()
        assert server.url() == f"unix:{path}"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        transport = httpx.AsyncHTTPTransport(uds=path)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.post("/v1/ingest", content=b'{"scope":"s","name":"n"}')).json()[
                "accepted"
            ] == 1
            with pytest.raises(ConfigError, match="cannot listen"):
                serve(app, socket=path)
        await server.close()
        await app.close()
        assert not os.path.exists(path)  # noqa: ASYNC240 - a test may block


async def test_a_socket_that_a_dead_server_left_is_taken_over(tmp_path: Path) -> None:
    path = str(tmp_path / "attend.sock")
    abandoned = await asyncio.start_unix_server(lambda _reader, _writer: None, path)
    abandoned.close()
    await abandoned.wait_closed()
    app = Attend()
    server = serve(app, socket=path, run=False)
    await server.ready()
    await server.close()
    await app.close()


async def test_closing_ends_streams_and_waits_in_good_order(served: Serve) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client:
        cursor = (await client.poll(None))["cursor"]
        ends: list[dict[str, Any]] = []
        waits: list[dict[str, Any]] = []

        async def follow(number: int) -> None:
            async with client.stream(None, id=number) as frames:
                ends.append((await frames.next("result", seconds=60))[1])

        async def wait() -> None:
            waits.append(await client.tool("attend_wait", cursor=cursor, waitSeconds=45))

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(follow, number)
            for _ in range(5):
                tasks.start_soon(wait)
            with anyio.fail_after(30):
                while app.feed.waiting < 15:  # noqa: ASYNC110 - it does not say
                    await anyio.sleep(0.05)
            began = time.monotonic()
            await server.close()
            assert time.monotonic() - began < 5
    assert sorted(end["_meta"][f"{META}subscriptionId"] for end in ends) == list(range(10))
    assert all(wait["timedOut"] and wait["cursor"] == cursor for wait in waits)
    assert len(waits) == 5


async def test_a_reader_that_never_reads_does_not_hold_up_the_end() -> None:
    app = Attend()
    server = serve(app, ApiSettings(shutdown_grace_ms=1500), port=0, run=False)
    await server.ready()
    async with wire(server.url()) as client:
        cursor = (await client.poll(None))["cursor"]
        for _ in range(500):
            await decide(app.store, notice="x" * 16_000)
        async with client.stream(cursor):
            await anyio.sleep(0.3)
            began = time.monotonic()
            await server.close()
            assert time.monotonic() - began < 5
    await app.close()


async def test_a_fleet_member_ends_on_one_sigterm_and_readers_resume(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    """With clients connected the process ends by itself, with 0; each resumes where it was, with nothing missing."""
    database = new_server()
    store = RedisStore(database.url)
    await store.open()
    arguments = ("api", "--port", "0", "--store", database.url)
    first = await to_thread.run_sync(Service(*arguments, log=tmp_path / "log").wait_ready)
    seen: list[list[str]] = []
    made: list[str] = []
    ended: list[tuple[int, float]] = []
    cursors: list[str] = []

    async def follow(client: Wire, number: int) -> None:
        async with client.stream(None, id=number) as frames:
            got: list[str] = []
            cursor = ""
            while True:
                kind, frame = await frames.next("active", "event", "result", seconds=90)
                if kind == "result":
                    break
                cursor = frame["cursor"]
                if kind == "event":
                    got.append(frame["eventId"])
            seen.append(got)
            cursors.append(cursor)

    async with wire(first.url) as client:
        start = (await client.poll(None))["cursor"]
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(follow, client, number)
            for _ in range(5):
                tasks.start_soon(
                    lambda: client.tool("attend_wait", cursor=start, scope="none", waitSeconds=45)
                )
            await anyio.sleep(2)
            made += await decide_many(store, 5)
            await anyio.sleep(1)
            began = time.monotonic()
            code = await to_thread.run_sync(first.stop)
            ended.append((code, time.monotonic() - began))
    [(code, took)] = ended
    assert code == 0
    assert took < 6
    missed = await decide_many(store, 3)
    second = await to_thread.run_sync(Service(*arguments, log=tmp_path / "log").wait_ready)
    try:
        async with wire(second.url) as client:
            for got, cursor in zip(seen, cursors, strict=True):
                async with client.stream(cursor) as frames:
                    assert not (await active(frames))["truncated"]
                    rest = [event["eventId"] for event in await frames.events(len(made) + 3 - len(got))]
                assert got + rest == made + missed
    finally:
        await to_thread.run_sync(second.stop)
        await store.close()


async def active(frames: Frames) -> dict[str, Any]:
    return (await frames.next("active"))[1]


async def test_a_restart_without_persistence_is_a_gap(
    new_server: Callable[..., Server], served: Serve
) -> None:
    database = new_server()
    app = Attend(store=RedisStore(database.url, timeout_ms=500))
    async with served(app=app, run=False, heartbeat_ms=300) as (_, server), wire(server.url()) as client:
        await decide_many(app.store, 3)
        cursor = (await client.poll(None))["cursor"]
        async with client.stream(cursor) as frames:
            await frames.next("active")
            database.kill()
            _, error = await frames.next("error")
            assert error["error"]["code"] == -32603
            await frames.next("heartbeat")
            database.start()
            _, again = await frames.next("active", seconds=60)
            assert again["truncated"]
            with anyio.fail_after(30):
                while True:
                    try:
                        made = await decide(app.store)
                        break
                    except StoreUnavailableError:
                        await anyio.sleep(0.1)
            assert (await frames.events(1))[0]["eventId"] == made
        page = await client.poll(cursor)
        assert page["truncated"]
