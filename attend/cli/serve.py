"""`attend serve`: a database server, the API in this process and workers beside it, kept running together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from attend.api.process import fastest_loop, server_of, start_line
from attend.api.server import Server
from attend.app import from_settings
from attend.cli.bundled import Bundled, server_binary
from attend.cli.crew import FIRST_PAUSE, LONGEST_PAUSE, Crew, ending
from attend.cli.folder import Folder, default_data
from attend.cli.log import say, warn
from attend.configured import references
from attend.core.types import ACTS
from attend.errors import AttendError
from attend.settings import Settings
from attend.trace import log_traces

T = TypeVar("T")

NO_KINDS = (
    "no kinds are configured: every event is a consequence, and nothing settles by itself; "
    """say which events matter, as with --kinds '{"user.said":"flush","build.*":"closing"}'"""
)

NO_WORKERS = (
    "no worker runs here (--workers 0): nothing is judged until an attend worker does on the same store"
)


def run_serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code.

    Raises `ConfigError` for what cannot be served, before anything is started where that can be known.
    """
    references(settings, os.environ)
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        return runner.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as open_now:
        if settings.store is None or settings.store == "memory":
            url = await _unless(stop, _bundled(settings, open_now))
            if url is None:
                return 0
            settings = msgspec.structs.replace(settings, store=url, data=None)
        app = from_settings(settings, observe=log_traces)
        open_now.push_async_callback(app.close)
        server = server_of(settings, app)
        grace = settings.shutdown_grace_ms / 1000
        for_workers = msgspec.structs.replace(settings, token=None, principals=None)
        crew = Crew(settings.workers, for_workers.child_env(os.environ), warn)
        try:
            return await _run(settings, server, crew, stop)
        finally:
            await asyncio.gather(server.close(), crew.stop(grace + 1))


async def _run(settings: Settings, server: Server, crew: Crew, stop: asyncio.Event) -> int:
    """Say so once all of it is up, then wait to be stopped."""

    async def up() -> bool:
        await server.ready()
        return await crew.start()

    started = await _unless(stop, up())
    if started is None:
        return 0
    if not started:
        return 2
    print(start_line(server), flush=True)
    if not ACTS & {settings.default_kind, *settings.kinds.values()}:
        print(NO_KINDS, flush=True)
    if settings.workers == 0:
        print(NO_WORKERS, flush=True)
    await _unless(stop, server.ended())
    if stop.is_set():
        return 0
    warn("the API ended by itself")
    return 1


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work comes to; None when it is time to stop first."""
    doing = asyncio.create_task(work)
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([doing, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if doing.done():
        return doing.result()
    doing.cancel()
    await asyncio.gather(doing, return_exceptions=True)
    return None


async def _bundled(settings: Settings, open_now: contextlib.AsyncExitStack) -> str:
    """Start the bundled server, have it started again when it ends, and return its URL."""
    server_binary()
    if settings.store == "memory":
        folder = Folder.temporary_one()
    else:
        data = default_data(os.environ) if settings.data is None else Path(settings.data)
        folder = Folder.take(data, "--data")
    open_now.callback(folder.close)
    bundled = Bundled(folder, persist=settings.store is None, say=say)
    open_now.push_async_callback(bundled.stop)
    await bundled.start()
    keeper = asyncio.create_task(_keep(bundled))
    open_now.push_async_callback(_cancelled, keeper)
    return bundled.url


async def _keep(bundled: Bundled) -> None:
    pause = FIRST_PAUSE
    while True:
        warn(f"the bundled server {ending(await bundled.wait())}; starting it again in {pause:.1f} s")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        with contextlib.suppress(AttendError):
            await bundled.start()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
