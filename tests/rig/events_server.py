"""An MCP Events server that does what a test tells it: right, wrong, slowly, or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

SUB = "io.modelcontextprotocol/subscriptionId"
NAME = "repo.activity"

Answer = dict[str, Any] | AsyncIterator[dict[str, Any] | bytes]
Handler = Callable[["Asked"], Answer]


class Fault(Exception):
    """Raised by a handler to answer with an error."""

    def __init__(self, code: int, message: str = "no", *, status: int = 200, data: Any = None) -> None:
        self.code = code
        self.status = status
        self.data = data
        super().__init__(message)


class Asked:
    """A request as it came."""

    def __init__(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        self.id: int = body["id"]
        self.method: str = body["method"]
        self.params: dict[str, Any] = body["params"]
        self.headers = headers

    @property
    def cursor(self) -> str | None:
        """The cursor it goes on from."""
        found: str | None = self.params.get("cursor")
        return found

    def note(self, kind: str, *, to: Any = None, **params: Any) -> dict[str, Any]:
        """A notification of its stream."""
        meta = {SUB: self.id if to is None else to}
        return {
            "jsonrpc": "2.0",
            "method": f"notifications/events/{kind}",
            "params": {**params, "_meta": meta},
        }

    def event(self, number: int, **more: Any) -> dict[str, Any]:
        """The event of this number, with its cursor."""
        return self.note("event", **{**occurrence(number), "cursor": str(number), **more})

    def end(self) -> dict[str, Any]:
        """The result of a stream."""
        return {"jsonrpc": "2.0", "id": self.id, "result": {"_meta": {SUB: self.id}}}


def occurrence(number: int) -> dict[str, Any]:
    """An event of the server's."""
    return {
        "eventId": f"e{number}",
        "name": NAME,
        "timestamp": "2026-11-30T14:08:46.500Z",
        "data": {"n": number},
    }


class EventsServer:
    """`async with EventsServer(poll=..., stream=...) as server`, then `server.url`.

    Each of `poll` and `stream` is called with the request; a dict is a result, an asynchronous iterator a stream of
    messages. `asked` are the requests so far, `open` counts streams that somebody reads.
    """

    def __init__(
        self,
        *,
        poll: Handler | None = None,
        stream: Handler | None = None,
        delivery: list[str] | None = None,
    ) -> None:
        self.handlers: dict[str, Handler] = {"events/list": self._list}
        if poll is not None:
            self.handlers["events/poll"] = poll
        if stream is not None:
            self.handlers["events/stream"] = stream
        offered = {"poll": poll is not None, "push": stream is not None}
        self.delivery = delivery or [mode for mode, on in offered.items() if on]
        self.asked: list[Asked] = []
        self.open = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._port}/mcp"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port it had before if it had one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Cut every connection and listen no more."""
        for writer in tuple(self._writers):
            writer.transport.abort()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def methods(self, method: str) -> list[Asked]:
        """The requests of a method."""
        return [each for each in self.asked if each.method == method]

    def _list(self, asked: Asked) -> Answer:
        types = [{"name": "other", "delivery": ["poll"]}, {"name": NAME, "delivery": self.delivery}]
        if asked.cursor is None:
            return {"events": types[:1], "nextCursor": "2"}
        return {"events": types[1:]}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
            }
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            answering = asyncio.create_task(self._answer(Asked(body, headers), writer))
            gone = asyncio.create_task(reader.read(1))
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            answering.cancel()
            gone.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked.append(asked)
        status = 200
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.id}
        try:
            handler = self.handlers.get(asked.method)
            if handler is None:
                raise Fault(-32601, "Method not found", status=404)
            found = handler(asked)
            if not isinstance(found, dict):
                await self._stream(found, writer)
                return
            answer["result"] = {"resultType": "complete", **found}
        except Fault as fault:
            status = fault.status
            answer["error"] = {"code": fault.code, "message": str(fault), "data": fault.data}
        body = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    async def _stream(
        self, messages: AsyncIterator[dict[str, Any] | bytes], writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        self.open += 1
        try:
            async for message in messages:
                data = message if isinstance(message, bytes) else b"data: " + json.dumps(message).encode()
                writer.write(b"event: message\r\n" + data + b"\r\n\r\n")
                await writer.drain()
        finally:
            self.open -= 1


class Story:
    """Events that can be told by poll and by stream, from any cursor on: what is added is heard at once."""

    def __init__(self, page: int = 100) -> None:
        self.last = 0
        self.page = page
        self._told = asyncio.Event()

    def tell(self, events: int = 1) -> None:
        """Have so many more happen."""
        self.last += events
        told, self._told = self._told, asyncio.Event()
        told.set()

    def poll(self, asked: Asked) -> dict[str, Any]:
        """A right answer."""
        start = self.last if asked.cursor is None else int(asked.cursor)
        end = min(start + self.page, self.last)
        return {
            "events": [occurrence(number) for number in range(start + 1, end + 1)],
            "cursor": str(end),
            "truncated": False,
            "hasMore": end < self.last,
        }

    async def stream(self, asked: Asked) -> AsyncIterator[dict[str, Any] | bytes]:
        """A right stream, which never ends."""
        place = self.last if asked.cursor is None else int(asked.cursor)
        yield asked.note("active", cursor=str(place), truncated=False)
        while True:
            told = self._told
            while place < self.last:
                place += 1
                yield asked.event(place)
            await told.wait()
