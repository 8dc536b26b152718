"""`attend serve`: a database server, the API in this process and workers beside it, kept running together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import msgspec

from attend.cli.bundled import Bundled, server_binary
from attend.cli.crew import FIRST_PAUSE, LONGEST_PAUSE, Crew, ending
from attend.cli.folder import Folder, default_data
from attend.cli.log import say
from attend.core.types import ACTS
from attend.errors import AttendError
from attend.settings import Settings

NO_KINDS = (
    "no kinds are configured: every event is a consequence, and nothing settles by itself; "
    """say which events matter, as with --kinds '{"user.said":"flush","build.*":"closing"}'"""
)


def run_serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; 0 when all of it ended in time."""
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as open_now:
        if settings.store is None or settings.store == "memory":
            url = await _bundled(settings, open_now)
            settings = msgspec.structs.replace(settings, store=url, data=None)
        return await _run(settings, stop, open_now)


async def _bundled(settings: Settings, open_now: contextlib.AsyncExitStack) -> str:
    """Start the bundled server, have it started again when it ends, and return its URL."""
    server_binary()
    if settings.store == "memory":
        folder = Folder.temporary_one()
    else:
        data = Path(settings.data).expanduser() if settings.data else default_data(os.environ)
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
        say(f"the bundled server {ending(await bundled.wait())}; starting it again in {pause:.1f} s")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        with contextlib.suppress(AttendError):
            await bundled.start()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
