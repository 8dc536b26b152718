"""A server behind a transport of the MCP SDK: several requests at once, their answers told apart by id."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Self

import anyio
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from attend.client.wire import Fault, Message, TroubleError, enveloped, failed, next_id
from attend.errors import PermanentError
from attend.mcp.server import SILENCE_MS, Unrouted

WAITING = 10_000
"""How many messages may wait for one request's reader before the request is given up."""

_ENDED = 1000
"""How many ended requests are remembered, whose late messages are no surprise."""


class TransportServer:
    """A server behind an SDK transport; a context manager that opens it and holds it.

    The messages of all requests come in one order and are handed on in it. Where the transport ends, what is
    asked of it raises `PermanentError`: make a new one.
    """

    def __init__(self, transport: Transport, *, silence_ms: int = SILENCE_MS) -> None:
        self._transport = transport
        self._silence = silence_ms / 1000
        self._asked: dict[int | str, tuple[asyncio.Queue[Message | Exception], Unrouted]] = {}
        self._ended: OrderedDict[int | str, None] = OrderedDict()
        self._stop = asyncio.Event()
        self._open: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        # A task of its own holds the transport: its scopes must end where they began.
        self._open = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(self._open), name="attend mcp transport")
        await asyncio.shield(self._open)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the transport, and what it started."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def wait(self) -> None:
        """Wait until the transport has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _hold(self, opened: asyncio.Future[Any]) -> None:
        try:
            async with self._transport as (reading, writing):
                opened.set_result(writing)
                took = asyncio.create_task(self._read(reading))
                stopped = asyncio.create_task(self._stop.wait())
                try:
                    await asyncio.wait([took, stopped], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    took.cancel()
                    stopped.cancel()
                    await asyncio.wait([took, stopped])
                self._end()
        except Exception as error:  # noqa: BLE001 - a transport may raise anything, and is then at its end
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._end()

    def _end(self) -> None:
        self._closed = True
        for queue, _ in self._asked.values():
            queue.put_nowait(_gone())

    async def _read(self, reading: Any) -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                received = await reading.receive()
                if isinstance(received, SessionMessage):
                    self._take(received.message)

    def _take(self, message: Any) -> None:
        if isinstance(message, JSONRPCNotification):
            found = Message(message.method, message.params or {})
            if not message.method.startswith("notifications/events/"):
                return
            subscription = found.subscription
            if subscription in self._asked:
                self._put(subscription, found)
            elif subscription not in self._ended:
                for _, unrouted in tuple(self._asked.values()):
                    unrouted(found)
        elif isinstance(message, JSONRPCResponse):
            self._put(message.id, Message(result=message.result))
        elif isinstance(message, JSONRPCError) and message.id is not None:
            error = message.error
            self._put(message.id, failed(Fault(error.code, error.message, error.data), 200))

    def _put(self, id: int | str, message: Message | Exception) -> None:
        asked = self._asked.get(id)
        if asked is None:
            return
        queue, _ = asked
        if queue.qsize() >= WAITING:
            message = TroubleError("messages came faster than they were read")
        queue.put_nowait(message)

    @contextlib.asynccontextmanager
    async def request(
        self, method: str, params: Mapping[str, Any], *, unrouted: Unrouted
    ) -> AsyncGenerator[AsyncGenerator[Message]]:
        """See `McpServer.request`."""
        if self._open is None or self._closed:
            raise _gone()
        id = next_id()
        queue: asyncio.Queue[Message | Exception] = asyncio.Queue()
        self._asked[id] = (queue, unrouted)
        answered = False

        async def messages() -> AsyncGenerator[Message]:
            nonlocal answered
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), self._silence)
                except TimeoutError:
                    raise TroubleError("the server did not answer in time") from None
                if isinstance(message, Exception):
                    answered = True
                    raise message
                answered = answered or not message.method
                yield message
                if answered:
                    return

        try:
            await self._send(JSONRPCRequest(jsonrpc="2.0", id=id, method=method, params=enveloped(params)))
            async with contextlib.aclosing(messages()) as found:
                yield found
        finally:
            del self._asked[id]
            self._ended[id] = None
            if len(self._ended) > _ENDED:
                self._ended.popitem(last=False)
            if not answered and not self._closed:
                cancelled = {"requestId": id, "reason": "nobody reads on"}
                with contextlib.suppress(PermanentError):
                    await self._send(
                        JSONRPCNotification(
                            jsonrpc="2.0", method="notifications/cancelled", params=enveloped(cancelled)
                        )
                    )

    async def _send(self, message: JSONRPCRequest | JSONRPCNotification) -> None:
        assert self._open is not None
        try:
            await self._open.result().send(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise _gone() from error


def stdio_server(
    command: str,
    args: Sequence[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    silence_ms: int = SILENCE_MS,
) -> TransportServer:
    """A server that is a command of its own, spoken to by its stdin and stdout; a context manager that runs it.

    Of this process's environment it gets what the MCP SDK passes on, `PATH` and such, and `env`. Entering it raises
    `OSError` where the command cannot be started.
    """
    found = StdioServerParameters(
        command=command, args=list(args), env=None if env is None else dict(env), cwd=cwd
    )
    return TransportServer(stdio_client(found), silence_ms=silence_ms)


def _gone() -> PermanentError:
    return PermanentError("the client's transport is closed; open a new one, and attach again")
