"""The worker processes of `attend serve`: started, waited for, started again when they end, stopped together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping

from attend.cli import parent

READY = "_ATTEND_READY"
"""The number of the pipe handle that a worker writes to once its lanes are up, in its environment."""

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
LONG_ENOUGH = 10.0
"""Seconds a worker must have lived for its end not to count towards a longer pause."""


class Crew:
    """`count` processes of `attend worker`, with an environment that carries their settings."""

    def __init__(self, count: int, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._count = count
        self._environ = {**environ, parent.VARIABLE: str(os.getpid())}
        self._say = say
        self._keepers: list[asyncio.Task[None]] = []
        self._processes: dict[int, Process] = {}
        self._ready: dict[int, asyncio.Event] = {}
        self._refused = asyncio.Event()

    async def start(self) -> bool:
        """Start them all and wait until each is ready; False when one says its settings cannot be used (exit 2)."""
        for number in range(1, self._count + 1):
            self._ready[number] = asyncio.Event()
            self._keepers.append(asyncio.create_task(self._keep(number)))
        refused: asyncio.Task[bool] = asyncio.create_task(self._refused.wait())
        ready = asyncio.create_task(self._all_ready())
        try:
            await asyncio.wait([refused, ready], return_when=asyncio.FIRST_COMPLETED)
        finally:
            refused.cancel()
            ready.cancel()
        return not self._refused.is_set()

    async def _all_ready(self) -> bool:
        for event in self._ready.values():
            await event.wait()
        return True

    async def _keep(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            began = loop.time()
            process = await self._spawn(number)
            code = await process.wait()
            self._processes.pop(number, None)
            if code == 2 and not self._ready[number].is_set():
                self._refused.set()
                return
            pause = FIRST_PAUSE if loop.time() - began > LONG_ENOUGH else pause
            self._say(
                f"worker {number} (process {process.pid}) {ending(code)}; starting another in {pause:.1f} s"
            )
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _spawn(self, number: int) -> Process:
        theirs, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "attend", "worker"),
                env={**self._environ, READY: str(ours)},
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(ours,),
                start_new_session=True,
            )
        except BaseException:
            os.close(theirs)
            raise
        finally:
            os.close(ours)
        self._processes[number] = process
        loop = asyncio.get_running_loop()

        def told() -> None:
            loop.remove_reader(theirs)
            if os.read(theirs, 1):
                self._ready[number].set()
            os.close(theirs)

        loop.add_reader(theirs, told)
        return process

    async def stop(self, grace: float) -> None:
        """Ask them to end; those still there after `grace` seconds are killed."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        left = list(self._processes.values())
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        ends = [asyncio.create_task(process.wait()) for process in left]
        if ends and (await asyncio.wait(ends, timeout=grace))[1]:
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait(ends)


def tell_ready(environ: Mapping[str, str]) -> None:
    """In a worker: say that its lanes are up, to the serve process that started it, or on stdout if none did."""
    text = environ.get(READY, "")
    if text.isdigit():
        with contextlib.suppress(OSError):
            os.write(int(text), b"1")
            os.close(int(text))
    else:
        print(f"attend worker ready (process {os.getpid()})", flush=True)


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
