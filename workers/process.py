"""`attend worker`: owns its process, keeps the lanes up whatever becomes of arq's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
from collections.abc import Callable
from typing import Any

from arq.worker import Worker
from redis.exceptions import RedisError

from attend.app import Attend, from_settings
from attend.errors import StoreUnavailableError
from attend.settings import Settings
from attend.trace import log_traces
from attend.workers.duty import arguments
from attend.workers.isolation import ChildProcesses
from attend.workers.sources import read_sources

logger = logging.getLogger("attend")

LONGEST_BACKOFF_SECONDS = 1.0


def run_worker(settings: Settings, *, ready: Callable[[], object] | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then hand back what is in hand. `ready` is called once the lanes are up.

    Raises `ConfigError` and `StateFormatError` before it starts. A store that is away is waited for.
    """
    asyncio.run(_serve(settings, ready))


async def _serve(settings: Settings, ready: Callable[[], object] | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    app = from_settings(settings, observe=log_traces, isolation=ChildProcesses(settings))
    stopped = asyncio.create_task(stop.wait())
    try:
        if not await _started(app, stop):
            return
        lanes = asyncio.create_task(app.run())
        upkeep = asyncio.create_task(_keep_arq(settings, app))
        sources = asyncio.create_task(read_sources(settings, app))
        if ready is not None:
            ready()
        logger.info("worker ready: prefix %s, %d runs a lane", settings.prefix, settings.concurrency)
        await asyncio.wait((lanes, stopped), return_when=asyncio.FIRST_COMPLETED)
        for each in (lanes, upkeep, sources):
            each.cancel()
        outcomes = await asyncio.gather(lanes, upkeep, sources, return_exceptions=True)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
    finally:
        stopped.cancel()
        await app.close()


async def _started(app: Attend, stop: asyncio.Event) -> bool:
    """Start the app, however long the store is away; False when asked to stop meanwhile."""
    said = False
    while not stop.is_set():
        try:
            await app.start()
        except StoreUnavailableError as error:
            if not said:
                logger.warning("waiting for the store: %s", error)
                said = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), random.uniform(0.2, LONGEST_BACKOFF_SECONDS))
        else:
            if said:
                logger.info("the store answers")
            return True
    return False


async def _keep_arq(settings: Settings, app: Attend) -> None:
    """Run arq's loop, and enter it again with backoff when it ends: it does when Redis goes away."""
    backoff, said = 0.1, False
    while True:
        started = asyncio.get_running_loop().time()
        worker = Worker(**_quiet(arguments(settings, app)))
        try:
            await worker.async_run()
        except (RedisError, OSError, EOFError) as error:
            # It goes on trying once or more a second: the first time tells all there is to tell.
            again = asyncio.get_running_loop().time() - started < 10 and said
            logger.log(logging.DEBUG if again else logging.INFO, "arq's loop ended, trying again: %s", error)
            said = True
        except Exception:
            logger.exception("arq's loop ended")
        finally:
            await _close(worker)
        if asyncio.get_running_loop().time() - started > 10:
            backoff = 0.1
        await asyncio.sleep(random.uniform(0.5, 1) * backoff)
        backoff = min(backoff * 2, LONGEST_BACKOFF_SECONDS)


def _quiet(given: dict[str, Any]) -> dict[str, Any]:
    # The process is ours, and so are its signals.
    return {**given, "handle_signals": False}


async def _close(worker: Worker) -> None:
    with contextlib.suppress(RedisError, OSError, asyncio.CancelledError):
        async with asyncio.timeout(2):
            await worker.close()
