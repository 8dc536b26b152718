"""A server that answers as a test tells it to: for what a real one does only on a bad day."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct


class Says(Struct, frozen=True):
    """One answer: a status, a body of JSON or raw bytes, more headers. `cut` closes the connection instead."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}
    cut: bool = False

    def data(self) -> bytes:
        """It as bytes."""
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content)), **self.headers}
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Script:
    """What the server is told and was sent: `bodies` are the requests' bodies, `paths` their request lines."""

    def __init__(self, answers: tuple[Says, ...]) -> None:
        self.answers = answers
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.url = ""

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.splitlines()
                        if line.startswith("content-length:")
                    ),
                    0,
                )
                self.bodies.append(await reader.readexactly(length))
                self.paths.append(head.splitlines()[0])
                said = self.answers[min(len(self.bodies), len(self.answers)) - 1]
                if said.cut:
                    return
                writer.write(said.data())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def scripted(*answers: Says) -> AsyncGenerator[Script]:
    """A server that gives these answers in turn, the last one again and again."""
    script = Script(answers)
    server = await asyncio.start_server(script.meet, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
