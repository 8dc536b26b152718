"""An ingest stream by hand: every byte is the test's own, and so is the moment it goes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

PATH = "/v1/ingest/stream"


class OpenLines:
    """A stream under way. `status` is its answer's; `frames` are those read so far."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.status = 0
        self.head: dict[str, str] = {}
        self.frames: list[dict[str, Any]] = []
        self._rest = b""

    def write(self, data: bytes) -> None:
        """A chunk of the body, without waiting until it is gone."""
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def send(self, data: bytes) -> None:
        """A chunk of the body."""
        self.write(data)
        await self.writer.drain()

    async def end(self) -> None:
        """The end of the body."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def cut(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()

    async def begin(self) -> None:
        """Read the answer's head."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(head[0].split()[1])
        pairs = (line.partition(": ") for line in head[1:])
        self.head = {name.lower(): value for name, _, value in pairs}

    async def frame(self, seconds: float = 60) -> dict[str, Any] | None:
        """The next frame; None once the answer has ended as it should. Raises `EOFError` where it was cut off."""
        async with asyncio.timeout(seconds):
            while b"\n" not in self._rest:
                size = int(await self._reader.readuntil(b"\r\n"), 16)
                chunk = await self._reader.readexactly(size + 2)
                if size == 0:
                    return None
                self._rest += chunk[:-2]
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        self.frames.append(found)
        return found

    async def ack(self, line: int) -> list[dict[str, Any]]:
        """Read until this line is acknowledged; the frames that acknowledge, of all that was read now."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["ack"] < line:
            frame = await self.frame()
            assert frame is not None, "the answer ended"
            assert "error" not in frame, frame
            if "ack" in frame:
                found.append(frame)
        return found

    async def error(self) -> dict[str, Any]:
        """Read until the frame that ends it."""
        while "error" not in (frame := await self.frame() or {}):
            assert frame, "the answer ended without an error"
        return frame


@asynccontextmanager
async def open_lines(url: str, *headers: str, path: str = PATH) -> AsyncGenerator[OpenLines]:
    """A stream to the server at a URL; its head and the first credits are read where it is taken."""
    parts = httpx.URL(url)
    reader, writer = await asyncio.open_connection(parts.host, parts.port)
    lines = [
        f"POST {path} HTTP/1.1",
        f"host: {parts.host}:{parts.port}",
        "transfer-encoding: chunked",
        *headers,
    ]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
    stream = OpenLines(reader, writer)
    try:
        await stream.begin()
        if stream.status == 200:
            assert "credits" in (await stream.frame() or {})
        yield stream
    finally:
        writer.transport.abort()


def counts(frames: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Accepted, duplicates and rejected over frames."""
    acks = [frame for frame in frames if "ack" in frame and "error" not in frame]
    return (
        sum(ack["accepted"] for ack in acks),
        sum(ack["duplicates"] for ack in acks),
        sum(len(ack["rejected"]) for ack in acks),
    )
