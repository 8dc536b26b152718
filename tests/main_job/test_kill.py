"""A fleet on one real server with AOF `always`, its processes killed with -9 in turn while events come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import redis
from anyio import to_thread
from mcp.shared.exceptions import MCPError

from attend.core.types import window_id
from tests.rig.fleet import Fleet
from tests.rig.reader import reader, until
from tests.rig.service import post, post_to_any
from tests.rig.streams import machine_log
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

KINDS = '{"ras.*.fatal":"closing","ras.*.severe":"closing"}'
# Leases and backoffs short enough for a lost call to be made again within the test.
SETTLE = ("--settle", "judge_timeout_ms=1500", "--settle", "retry_backoff_ms=200,400,800")


@pytest.fixture
def fleet(new_server: Callable[..., Server], tmp_path: Path) -> Iterator[Fleet]:
    """A fleet on a server that syncs every write."""
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    made = Fleet(server, tmp_path, "--kinds", KINDS, *SETTLE, apis=2, workers=3)
    made.start()
    try:
        yield made
    finally:
        made.stop()


async def read_from_any(fleet: Fleet, cursor: str, seen: list[dict[str, Any]]) -> str:
    """Poll whichever API answers; the new cursor."""
    for url in fleet.urls:
        try:
            with anyio.fail_after(10):
                async with reader(url) as agent:
                    agent.cursor = cursor
                    await agent.poll()
        except (OSError, httpx.TransportError, MCPError, ExceptionGroup):
            continue  # this one is down just now
        assert agent.truncated == 0
        assert agent.cursor is not None
        seen += agent.polled
        return agent.cursor
    return cursor


async def first_cursor(fleet: Fleet) -> str:
    """A cursor at the log's beginning."""
    async with reader(fleet.urls[0]) as agent:
        await agent.poll()
        assert agent.cursor is not None
        return agent.cursor


async def test_nothing_accepted_is_lost_or_decided_twice_while_processes_are_killed(fleet: Fleet) -> None:
    lines, alerts = machine_log()
    cursor = await first_cursor(fleet)
    seen: list[dict[str, Any]] = []
    posting = True

    async def kill_in_turn() -> None:
        turn = 0
        while posting or turn < 10:
            await anyio.sleep(1)
            await to_thread.run_sync(fleet.kill, turn)
            turn += 1

    async def post_slowly() -> None:
        nonlocal posting
        for turn, start in enumerate(range(0, len(lines), 50)):
            await to_thread.run_sync(post_to_any, fleet.urls, lines[start : start + 50], turn)
            await anyio.sleep(0.25)
        posting = False

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_in_turn)
        tasks.start_soon(post_slowly)
    for api in fleet.apis:
        await to_thread.run_sync(api.wait_ready)

    def decided() -> Counter[str]:
        return Counter(each for event in seen for each in event["data"]["eventIds"])

    async def all_there() -> bool:
        nonlocal cursor
        cursor = await read_from_any(fleet, cursor, seen)
        return alerts <= decided().keys()

    await until(all_there, seconds=120, every=0.5)
    await anyio.sleep(2)
    cursor = await read_from_any(fleet, cursor, seen)
    counts = decided()
    assert {alert: counts[alert] for alert in alerts} == dict.fromkeys(alerts, 1)
    assert max(counts.values()) == 1
    ids = [event["eventId"] for event in seen]
    assert len(set(ids)) == len(ids)
    for event in seen:
        data = event["data"]
        assert event["eventId"] == window_id(data["scope"], data["eventIds"])


async def test_a_fleet_outlives_a_killed_and_restarted_server(fleet: Fleet) -> None:
    """Rows of the kind: the client kept script hashes for ever, and every call failed after a restart."""
    lines, alerts = machine_log()
    cursor = await first_cursor(fleet)
    seen: list[dict[str, Any]] = []
    first, second = lines[:600], lines[600:1200]
    wanted = alerts & {line.split(b'"id"')[1].split(b'"')[1].decode() for line in first + second}
    await to_thread.run_sync(post_to_any, fleet.urls, first, 0)
    await to_thread.run_sync(fleet.server.kill)
    await anyio.sleep(1.5)
    assert fleet.ready() == [503, 503], "ready is red while a commit would fail"
    await to_thread.run_sync(fleet.server.start)
    await to_thread.run_sync(post_to_any, fleet.urls, second, 1)

    async def all_there() -> bool:
        nonlocal cursor
        cursor = await read_from_any(fleet, cursor, seen)
        return wanted <= {each for event in seen for each in event["data"]["eventIds"]}

    await until(all_there, seconds=90, every=0.5)
    counts = Counter(each for event in seen for each in event["data"]["eventIds"])
    assert max(counts.values()) == 1
    assert all(service.process.poll() is None for service in (*fleet.apis, *fleet.workers))


async def test_scripts_flushed_from_a_running_server_are_loaded_again(fleet: Fleet) -> None:
    lines = [b'{"scope":"s","id":"%d","name":"ras.x.fatal"}' % n for n in range(6)]
    async with reader(fleet.urls[0]) as agent:
        await agent.poll()
        for turn in range(2):
            with redis.Redis(unix_socket_path=fleet.server.path) as connection:
                connection.script_flush()
            reply = await to_thread.run_sync(post, fleet.urls[turn], lines[3 * turn : 3 * turn + 3])
            assert reply["accepted"] == 3

        async def all_there() -> bool:
            await agent.poll()
            return sum(len(event["data"]["eventIds"]) for event in agent.polled) == 6

        await until(all_there)
