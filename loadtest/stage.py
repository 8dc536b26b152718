"""Where figures are measured: a database server of the harness' own, and the processes that it starts beside it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from attend.cli.bundled import Bundled
from attend.cli.folder import Folder

ROOT = Path(__file__).parents[1]
START_SECONDS = 60.0
STOP_SECONDS = 15.0


class Stage:
    """The bundled server with the persistence it comes with, in a folder that goes away with it.

    Processes started here are stopped here, each by its own id.
    """

    def __init__(self) -> None:
        self._folder = Folder.temporary_one()
        self._server = Bundled(self._folder, persist=True, say=print)
        self._started: list[Process] = []

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        for process in list(self._started):
            await self.stop(process)
        await self._server.stop()
        self._folder.close()

    @property
    def url(self) -> str:
        """The server's URL."""
        return self._server.url

    @property
    def folder(self) -> Path:
        """A place for files that processes exchange."""
        return self._folder.path

    async def start(self, *command: str, environ: Mapping[str, str] | None = None) -> Process:
        """Start `python` with these arguments, from the checkout, its output piped."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            cwd=ROOT,
            env={**clean, **(environ or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
        )
        self._started.append(process)
        return process

    async def serve(self, *command: str) -> tuple[Process, str]:
        """Start an API; with it, where it listens, from the first line it prints with a URL."""
        process = await self.start(*command)
        assert process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            async for said in process.stdout:
                for word in said.decode().split():
                    if word.startswith("http://"):
                        return process, word
        raise RuntimeError(f"{' '.join(command)} ended before it served")

    async def measure(self, what: str, **options: Any) -> Any:
        """Run a part of `loadtest.client` in a process of its own; what it found."""
        process = await self.start("-m", "loadtest.client", what, msgspec.json.encode(options).decode())
        said, _ = await process.communicate()
        self._started.remove(process)
        if process.returncode != 0:
            raise RuntimeError(f"the client that measures {what} ended with {process.returncode}")
        return msgspec.json.decode(said)

    async def stop(self, process: Process) -> None:
        """SIGTERM, and SIGKILL where that does not end it."""
        if process in self._started:
            self._started.remove(process)
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.communicate()
            except TimeoutError:
                process.kill()
                await process.communicate()
