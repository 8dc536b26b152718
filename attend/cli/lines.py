"""Lines of files and pipes, in batches: full ones where there is enough, small ones soon where it trickles."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from attend.errors import ConfigError

STDIN = "-"
LINGER = 0.15
"""Seconds that a line waits for others to go along with it."""

LONGEST_LINE = 32 * 1024 * 1024
"""Bytes past which a line is not even read: no server takes it."""

_CHUNK = 64 * 1024
_CHUNKS = 16


class FileLine(Struct, frozen=True):
    """A line with its place. `data` is None for one that is too long to be one; `end` is how far its file is read."""

    file: str
    number: int
    data: bytes | None
    end: int

    @property
    def place(self) -> str:
        """`events.ndjson:17`."""
        return f"{self.file}:{self.number}"


class _Chunk(Struct, frozen=True):
    file: int
    data: bytes
    read_at: float
    error: OSError | None = None


class Files:
    """Files in the order given, `-` for stdin. Opened at once: raises `ConfigError` for each that cannot be."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = ["stdin" if name == STDIN else name for name in names]
        self._handles: list[int] = []
        problems: list[str] = []
        if names.count(STDIN) > 1:
            problems.append("-: stdin is given twice")
        for name in names:
            try:
                if Path(name).is_dir():
                    raise IsADirectoryError(21, "it is a folder")
                self._handles.append(0 if name == STDIN else os.open(name, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                problems.append(f"{name}: {error.strerror}; give a file that can be read, or - for stdin")
        if problems:
            raise ConfigError(*problems)

    @property
    def size(self) -> int | None:
        """Bytes in all of them; None where one is no regular file."""
        total = 0
        for handle in self._handles:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None
            total += found.st_size - os.lseek(handle, 0, os.SEEK_CUR)
        return total

    async def batches(
        self, most_lines: int, most_bytes: int, linger: float = LINGER
    ) -> AsyncGenerator[list[FileLine]]:
        """The lines that are not blank. Raises `OSError` where a file cannot be read to its end."""
        queue: asyncio.Queue[_Chunk | None] = asyncio.Queue()
        room = threading.Semaphore(_CHUNKS)
        loop = asyncio.get_running_loop()

        def put(item: _Chunk | None) -> None:
            room.acquire()
            loop.call_soon_threadsafe(queue.put_nowait, item)

        # A thread of its own, which is let go of where it waits for a pipe that says nothing.
        threading.Thread(target=self._read, args=(put,), daemon=True).start()
        cut = _Cut(self._names)
        batch: list[FileLine] = []
        size, oldest = 0, 0.0
        while True:
            chunk: _Chunk | None
            try:
                async with asyncio.timeout(max(0.0, oldest + linger - time.monotonic()) if batch else None):
                    chunk = await queue.get()
            except TimeoutError:
                yield batch
                batch, size = [], 0
                continue
            room.release()
            if chunk is not None and chunk.error is not None:
                raise chunk.error
            for line in cut.lines(chunk):
                oldest = oldest if batch else (time.monotonic() if chunk is None else chunk.read_at)
                length = len(line.data or b"") + 1
                if batch and (len(batch) >= most_lines or size + length > most_bytes):
                    yield batch
                    batch, size = [], 0
                batch.append(line)
                size += length
            if chunk is None:
                if batch:
                    yield batch
                return
            if len(batch) >= most_lines:
                yield batch
                batch, size = [], 0

    def _read(self, put: Callable[[_Chunk | None], None]) -> None:
        try:
            for file, handle in enumerate(self._handles):
                try:
                    while data := os.read(handle, _CHUNK):
                        put(_Chunk(file, data, time.monotonic()))
                except OSError as error:
                    put(_Chunk(file, b"", time.monotonic(), error))
                    return
            put(None)
        except RuntimeError:
            return  # The loop is closed: nobody wants to know any more.


class _Cut:
    """Cuts chunks into lines. A byte order mark at the start of a file is dropped."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._file = 0
        self._number = 0
        self._rest = bytearray()
        self._read = 0
        self._long = False

    def lines(self, chunk: _Chunk | None) -> Iterator[FileLine]:
        """The lines that a chunk completes; None is the end of all."""
        if chunk is None or chunk.file != self._file:
            yield from self._line(bytes(self._rest), last=True)
            self._number, self._read, self._rest, self._long = 0, 0, bytearray(), False
        if chunk is None:
            return
        self._file = chunk.file
        *ended, rest = chunk.data.split(b"\n")
        for part in ended:
            whole = bytes(self._rest) + part if self._rest else part
            self._rest = bytearray()
            yield from self._line(whole)
        if not self._long:
            self._rest += rest
        self._read += 0 if not self._long else len(rest)
        if len(self._rest) > LONGEST_LINE:
            self._long, self._read, self._rest = True, self._read + len(self._rest), bytearray()

    def _line(self, data: bytes, *, last: bool = False) -> Iterator[FileLine]:
        if last and not data and not self._long:
            return
        self._number += 1
        self._read += len(data) + (not last)
        if self._number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        long, self._long = self._long, False
        if long or data.strip(b" \t\r"):
            yield FileLine(self._names[self._file], self._number, None if long else data, self._read)
