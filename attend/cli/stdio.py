"""JSON-RPC over standard input and output, a line a message: nothing else ever stands on standard output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncGenerator
from typing import Any, BinaryIO

import msgspec

MOST_BYTES = 4 * 1024 * 1024
"""A longer line is no message that this side understands; what is left of it is read and thrown away."""

_encode = msgspec.json.Encoder().encode


class Stdio:
    """The two streams. Whatever else this process prints goes to standard error from now on."""

    def __init__(self, source: BinaryIO | None = None) -> None:
        sys.stdout.flush()
        self._out = os.dup(1)
        os.dup2(2, 1)
        self._source = source or sys.stdin.buffer
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._writing = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message whole; they go out in the order of the calls. Raises `OSError` where nobody reads."""
        line = _encode(message) + b"\n"
        async with self._writing:
            # A reader that is busy must not hold up the rest.
            await asyncio.to_thread(self._write, line)

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._out, view) :]

    async def lines(self) -> AsyncGenerator[bytes]:
        """The lines that come in, until the other side closes."""
        loop = asyncio.get_running_loop()
        # A daemon: one that waits for input cannot be told to stop.
        threading.Thread(target=self._read, args=(loop,), daemon=True, name="attend stdin").start()
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        whole = True
        # Where the loop has ended before the input did, nobody waits for it any more.
        with contextlib.suppress(RuntimeError):
            with contextlib.suppress(OSError, ValueError):
                while line := self._source.readline(MOST_BYTES):
                    ends = line.endswith(b"\n")
                    if whole and line.strip():
                        loop.call_soon_threadsafe(self._lines.put_nowait, line)
                    whole = ends
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
