"""Faults of reading while others write that users of such systems reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from tests.proxy import Proxy
from tests.rig.fleet import Fleet
from tests.rig.reader import Reader, reader, until
from tests.rig.service import ids, post
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SCOPES = 50
ROUNDS = 16


async def test_no_reader_is_passed_by_a_commit_that_comes_late(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    """Ids were taken before commit; when a later one committed first, a reader's cursor passed the earlier."""
    server = new_server()
    async with Proxy(server.path) as slow:
        slow.delay = 0.01
        fleet = Fleet(server, tmp_path, "--default-kind", "flush", apis=3, workers=3, api_store=slow.url)
        await to_thread.run_sync(fleet.start)
        try:
            await read_while_writing(fleet)
        finally:
            await to_thread.run_sync(fleet.stop)


async def read_while_writing(fleet: Fleet) -> None:
    """A poller with small pages and two streams, each on an API of its own, while three post."""
    wanted = {f"{scope}-{turn}" for scope in range(SCOPES) for turn in range(ROUNDS)}

    async def write(n: int) -> None:
        for turn in range(ROUNDS):
            lines = [
                b'{"scope":"scope-%d","id":"%d-%d","name":"say"}' % (scope, scope, turn)
                for scope in range(n, SCOPES, 3)
            ]
            await to_thread.run_sync(post, fleet.urls[n], lines)

    async def poll(agent: Reader) -> None:
        cursors = [agent.cursor]
        while len({each for event in agent.polled for each in event["data"]["eventIds"]}) < len(wanted):
            await agent.poll(max_events=7)
            if agent.cursor != cursors[-1]:
                cursors.append(agent.cursor)
        assert len(set(cursors)) == len(cursors), "a cursor came back"

    async with (
        reader(fleet.urls[0]) as poller,
        reader(fleet.urls[1]) as first,
        reader(fleet.urls[2]) as second,
        anyio.create_task_group() as tasks,
    ):
        await poller.poll()
        for streamer in (first, second):
            tasks.start_soon(streamer.stream)
        await until(lambda: first.active and second.active)
        async with anyio.create_task_group() as work:
            for n in range(3):
                work.start_soon(write, n)
            work.start_soon(poll, poller)
        await poller.poll()
        await until(lambda: min(len(first.streamed), len(second.streamed)) >= len(poller.polled))
        assert len(set(ids(poller.polled))) == len(poller.polled)
        assert ids(first.streamed) == ids(second.streamed) == ids(poller.polled)
        got = [each for event in poller.polled for each in event["data"]["eventIds"]]
        assert sorted(got) == sorted(wanted)
        tasks.cancel_scope.cancel()
