"""One HTTP/1.1 request whose answer is read while its body is still being sent, which httpx does not do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import h11
import httpx

from attend.client.wire import TroubleError

CONNECT = 5.0
SILENCE = 120.0
"""How many seconds an answer may be silent before its server is taken for dead. A server's heartbeat is 15 s."""

_CHUNK = 64 * 1024


class Duplex:
    """A `POST` under way. Every method raises `TroubleError` where the connection breaks or falls silent."""

    def __init__(self, where: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._where = where
        self._reader = reader
        self._writer = writer
        self._http: Any = h11.Connection(h11.CLIENT)  # It tells no checker what it gives.

    @classmethod
    async def post(cls, http: httpx.AsyncClient, uds: str | None, path: str, where: str) -> Duplex:
        """Connect to where a client of httpx would, straight and without a proxy, and begin a request of lines."""
        url = str(http.base_url).rstrip("/") + path
        parts = urlsplit(url)
        try:
            async with asyncio.timeout(CONNECT):
                if uds is not None:
                    reader, writer = await asyncio.open_unix_connection(uds)
                else:
                    tls = ssl.create_default_context() if parts.scheme == "https" else None
                    port = parts.port or (443 if tls else 80)
                    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls)
        except (OSError, TimeoutError) as error:
            raise TroubleError(f"nothing answers at {where}; is attend serve running there?") from error
        made = cls(where, reader, writer)
        token = http.headers.get("authorization")
        headers = [
            ("host", parts.netloc.rpartition("@")[2]),
            ("content-type", "application/x-ndjson"),
            ("transfer-encoding", "chunked"),
            *([("authorization", token)] if token is not None else []),
        ]
        await made._send(h11.Request(method="POST", target=parts.path, headers=headers))
        return made

    async def send(self, data: bytes) -> None:
        """A piece of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """The end of the body."""
        await self._send(h11.EndOfMessage())

    async def close(self) -> None:
        """Let go of the connection."""
        self._writer.transport.abort()

    async def answer(self) -> httpx.Response:
        """The answer's head; of an answer other than 200 the whole."""
        while not isinstance(event := await self._next(), h11.Response):
            pass
        content = b""
        if event.status_code != 200:
            async for data in self._data():
                content += data
        return httpx.Response(event.status_code, headers=list(event.headers), content=content)

    async def lines(self) -> AsyncGenerator[bytes]:
        """The lines of the answer as they come, until it ends."""
        rest = b""
        async for data in self._data():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line

    async def _data(self) -> AsyncGenerator[bytes]:
        while not isinstance(event := await self._next(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    async def _send(self, event: Any) -> None:
        try:
            self._writer.write(self._http.send(event))
            await self._writer.drain()
        except (OSError, h11.LocalProtocolError) as error:
            raise self._broken(error) from error

    async def _next(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(SILENCE):
                    self._http.receive_data(await self._reader.read(_CHUNK))
        except TimeoutError as error:
            raise TroubleError(f"{self._where} fell silent") from error
        except (OSError, h11.RemoteProtocolError) as error:
            raise self._broken(error) from error
        if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise self._broken(None)
        return event

    def _broken(self, error: Exception | None) -> TroubleError:
        return TroubleError(
            f"the connection to {self._where} broke{f': {error}' if error is not None and str(error) else ''}"
        )
