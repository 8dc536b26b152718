"""A link between a client and a server that can be slow, frozen or cut."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Proxy:
    """Listens on a port of the loopback address and passes bytes on to a server's unix socket, both ways.

    `async with Proxy(path) as proxy`, then point the client at `proxy.url`. `delay` is the seconds each chunk
    waits, either way. A connection on which nothing comes back for `silence` seconds is closed; `closed_silent`
    counts those.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self.delay = 0.0
        self.silence: float | None = None
        self.closed_silent = 0
        self.connections = 0

    @property
    def url(self) -> str:
        """Where a Redis client finds it."""
        return f"redis://127.0.0.1:{self._port}"

    @property
    def http_url(self) -> str:
        """Where an HTTP client finds it."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thaw()
        self.cut()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def freeze(self) -> None:
        """Pass nothing on and close nothing: what a link without a route looks like."""
        self._flows.clear()

    def thaw(self) -> None:
        """Pass everything on again, what waited first."""
        self._flows.set()

    def cut(self) -> None:
        """Close every connection now; the bytes under way are gone. New ones are taken."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def refuse(self, refuses: bool = True) -> None:
        """Close each new connection at once, until told otherwise."""
        self._refuses = refuses

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._refuses:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._path)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        for source, target, silence in ((reader, far_writer, None), (far_reader, writer, self.silence)):
            pump = asyncio.create_task(self._pump(source, target, silence))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, silence: float | None
    ) -> None:
        try:
            while chunk := await asyncio.wait_for(source.read(65536), silence):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._flows.wait()
                target.write(chunk)
                await target.drain()
        except TimeoutError:
            self.closed_silent += 1
        except OSError:
            pass
        finally:
            target.transport.abort()
            self._writers.discard(target)
