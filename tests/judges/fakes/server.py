"""A real HTTP server whose every byte a test decides: answers by a rule or from a queue, breaks off, or hangs."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Exchange:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body, decoded."""
        return json.loads(self.body)


@dataclass
class Answer:
    """What to send back. `broken` closes the connection in the middle of the body, `hangs` sends nothing."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    broken: bool = False
    hangs: bool = False

    def content(self) -> bytes:
        """The body's bytes: JSON unless bytes were given."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


class FakeServer:
    """Answers from `queue` while it has any, else by `rule`. `requests` keeps what came, `arrived` is set from the first on."""

    def __init__(self, rule: Callable[[Exchange], Answer]) -> None:
        self.rule: Callable[[Exchange], Answer] = rule
        self.queue: deque[Answer] = deque()
        self.requests: list[Exchange] = []
        self.arrived = asyncio.Event()
        self.connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def answers(self, *answers: Answer) -> None:
        """Queue answers."""
        self.queue.extend(answers)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[FakeServer]:
        """Listening on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._server.close()
            for writer in list(self._writers):
                writer.transport.abort()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            # A test may end while a client still holds its connection.
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        assert "transfer-encoding" not in headers, "this server takes bodies with a length"
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        exchange = Exchange(method, path, headers, body)
        self.requests.append(exchange)
        self.arrived.set()
        answer = self.queue.popleft() if self.queue else self.rule(exchange)
        if answer.hangs:
            await reader.read()
            return False
        content = answer.content()
        lines = [f"HTTP/1.1 {answer.status} X"]
        fields = {"content-type": "application/json", **answer.headers, "content-length": str(len(content))}
        lines += [f"{name}: {value}" for name, value in fields.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        writer.write(content[: len(content) // 2] if answer.broken else content)
        await writer.drain()
        return not answer.broken
