"""HTTP/1.1 with next to no work in it, so that it is the server and not the client that is measured."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def request(path: str, body: bytes, **headers: str) -> bytes:
    """A POST as bytes; an underscore in a header's name stands for a dash."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """One connection, kept open, with one request on it at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    @classmethod
    async def open(cls, url: str) -> Connection:
        """Connect to an `http://host:port`."""
        where = urlsplit(url)
        address = where.hostname or "127.0.0.1", where.port or 80
        _, made = await asyncio.get_running_loop().create_connection(cls, *address)
        return made

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the event loop: an answer is complete once its content-length is there."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(self._received, 0, end)
        whole = end + 4 + (int(length[1]) if length else 0)
        if len(self._received) >= whole and self._answer is not None:
            answer = int(self._received[9:12]), bytes(self._received[end + 4 : whole])
            del self._received[:whole]
            self._answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; the answer's status and body. Raises `OSError` when the connection breaks."""
        assert self._transport is not None, "open() comes first"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()
