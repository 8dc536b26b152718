"""The settings class for plain `arq attend.workers.WorkerSettings`, made from `ATTEND_` variables.

Importing this module reads the environment and raises `ConfigError` with everything that is wrong in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import Any

from attend.app import Attend, from_settings
from attend.errors import ConfigError
from attend.settings import Settings
from attend.trace import log_traces
from attend.workers.duty import arguments
from attend.workers.isolation import ChildProcesses
from attend.workers.sources import read_sources

logger = logging.getLogger("attend")


def read_settings() -> Settings:
    """A worker's settings. Raises `ConfigError`."""
    settings = Settings.from_env(os.environ)
    if settings.store is None or settings.store == "memory":
        raise ConfigError(
            "ATTEND_STORE: a worker needs the URL of a server that the whole fleet can reach, "
            "such as redis://localhost:6379"
        )
    return settings


async def start_lanes(context: dict[str, Any]) -> None:
    """arq's `on_startup`: the lanes start. Where they end by themselves, so does the worker."""
    app: Attend = context["attend"]
    await app.start()
    lanes = asyncio.create_task(app.run(), name="lanes")

    def ended(lanes: asyncio.Task[None]) -> None:
        if not lanes.cancelled() and lanes.exception() is not None:
            logger.critical("the lanes ended", exc_info=lanes.exception())
            os.kill(os.getpid(), signal.SIGTERM)

    lanes.add_done_callback(ended)
    context["lanes"] = lanes
    context["sources"] = asyncio.create_task(read_sources(context["settings"], app), name="sources")


async def drain_lanes(context: dict[str, Any]) -> None:
    """arq's `on_shutdown`: the lanes stop claiming, finish what they can and hand back the rest."""
    for name in ("sources", "lanes"):
        task: asyncio.Task[None] | None = context.get(name)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
    await context["attend"].close()


_settings = read_settings()
_app = from_settings(_settings, observe=log_traces, isolation=ChildProcesses(_settings))

WorkerSettings: type = type(
    "WorkerSettings",
    (),
    {**arguments(_settings, _app), "on_startup": start_lanes, "on_shutdown": drain_lanes},
)
"""What `arq` is given."""
