"""The sources of a deployment in its workers: each read by one of them, whatever becomes of that one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from attend import Attend, RedisStore
from attend.settings import Settings
from attend.source_setting import SourceSetting
from attend.workers import sources
from attend.workers.sources import read_sources
from tests.mcp.conftest import SCOPE, until
from tests.rig.events_server import NAME, Asked, EventsServer, Fault, Story
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio


@pytest.fixture
def url(valkey: Server) -> str:
    """An empty server's."""
    with plain_client(valkey.url) as client:
        client.flushall()
    return valkey.url


@pytest.fixture(autouse=True)
def held_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that died keeps its sources for a second."""
    monkeypatch.setattr(sources, "HOLD_MS", 1000)


@asynccontextmanager
async def worker(url: str, *read: SourceSetting) -> AsyncGenerator[Attend]:
    """What a worker does about sources."""
    app = Attend(store=RedisStore(url), settle={"retry_backoff_ms": (10,)})
    task = asyncio.create_task(read_sources(Settings(sources=read), app))
    try:
        yield app
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await app.close()


async def has(app: Attend, *ids: str) -> None:
    """Wait until the scope's window holds these."""
    found: list[str] = []
    with anyio.move_on_after(30):
        while found != list(ids):
            await anyio.sleep(0.02)
            state = await app.engine.state(SCOPE)
            found = [] if state is None else [event.id for event in state.open.events]
    assert found == list(ids)


async def test_one_of_two_reads_and_the_other_takes_over(url: str) -> None:
    story = Story()
    async with EventsServer(stream=story.stream) as server:
        source = SourceSetting(url=server.url, event=NAME, scope=SCOPE)
        async with worker(url, source) as second:
            async with worker(url, source):
                await until(lambda: server.open)
                await asyncio.sleep(1.5)
                assert server.open == 1
                story.tell(1)
                await has(second, "e1")
            story.tell(1)
            await has(second, "e1", "e2")
            assert server.open == 1


async def test_what_a_dead_worker_held_is_free_once_its_time_is_up(url: str) -> None:
    store = RedisStore(url)
    async with worker(url) as app:
        await app.start()
        assert await store.hold("source", "dead", 500)
        assert not await store.hold("source", "alive", 500)
        assert await store.hold("source", "dead", 500)
        await store.let_go("source", "alive")
        assert not await store.hold("source", "alive", 500)
        await asyncio.sleep(0.6)
        assert await store.hold("source", "alive", 500)
    await store.close()


async def test_a_command_is_started_and_started_again_when_it_ends(url: str, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    happened(file, 1)
    command = (sys.executable, str(Path(__file__).parent / "clock_server.py"), str(file))
    source = SourceSetting(command=command, event="number", scope=SCOPE, arguments={"only": "odd"})
    async with worker(url, source) as app:
        await has(app, "n1")
        os.kill(pid_beside(file), signal.SIGKILL)
        happened(file, 3)
        await has(app, "n1", "n3")


def pid_beside(file: Path) -> int:
    """The process that reads the file."""
    return int(file.with_suffix(".pid").read_text())


def happened(file: Path, events: int) -> None:
    """So many events, all in all."""
    file.write_bytes(b"x" * events)


async def test_what_was_refused_is_tried_again(url: str) -> None:
    story = Story()
    allowed = False

    def stream(asked: Asked) -> AsyncIterator[dict[str, Any] | bytes]:
        if not allowed:
            raise Fault(-32024, "not for you")
        return story.stream(asked)

    async with (
        EventsServer(stream=stream) as server,
        worker(url, SourceSetting(url=server.url, event=NAME, scope=SCOPE)) as app,
    ):
        await until(lambda: len(server.methods("events/stream")) == 1)
        allowed = True
        await until(lambda: server.open)
        story.tell(1)
        await has(app, "e1")


async def test_a_worker_that_slept_too_long_commits_nothing_of_what_it_had(url: str) -> None:
    story = Story()
    async with EventsServer(stream=story.stream) as server:
        source = SourceSetting(url=server.url, event=NAME, scope=SCOPE)
        async with worker(url, source) as slept:
            await until(lambda: server.open)
            story.tell(1)
            await has(slept, "e1")
            hold, told = RedisStore.hold, asyncio.Event()

            async def asleep(store: RedisStore, name: str, holder: str, ms: int) -> bool:
                if store is slept.store:
                    await told.wait()
                return await hold(store, name, holder, ms)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(RedisStore, "hold", asleep)
                async with worker(url, source) as awake:
                    await until(lambda: server.open == 2)
                    story.tell(2)
                    await has(awake, "e1", "e2", "e3")
                    told.set()
                    await until(lambda: server.open == 1)
                    story.tell(1)
                    await has(awake, "e1", "e2", "e3", "e4")
