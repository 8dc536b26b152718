"""Another server's events as a source: streamed where it streams, polled where it does not."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Literal

from attend.client.answer import Backoff
from attend.client.wire import Message, NotOfferedError, TroubleError
from attend.clock import Clock, SystemClock
from attend.errors import AnswerError, PermanentError, UnreachableError
from attend.mcp.ahead import Ahead, IdleError, OverflowedError
from attend.mcp.occurrence import Page, occurrence_of, page_of, types_of
from attend.mcp.place import Place
from attend.mcp.server import HttpServer, McpServer
from attend.mcp.trouble import SourceTrouble, Trouble
from attend.source import Emit

logger = logging.getLogger("attend")

PAGE = 250
"""Events that go into one commit at most."""

LEAST_POLL_MS = 1000
LONGEST_WAIT_MS = 60_000
_EXHAUSTED = frozenset({"-32025", "-32013"})

Mode = Literal["auto", "stream", "poll"]
OnError = Callable[[SourceTrouble], object]


def key_of(name: str, arguments: Mapping[str, Any]) -> str:
    """What a subscription's cursor is kept under."""
    shape = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"mcp:{name}:{shape}"


class McpEventsSource:
    """See `mcp_events_source`."""

    def __init__(
        self,
        server: McpServer | str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        key: str,
        mode: Mode,
        poll_ms: int,
        max_buffered: int,
        idle_timeout_ms: int,
        on_error: OnError | None,
        clock: Clock,
    ) -> None:
        self._server = server
        self._name = name
        self._arguments = dict(arguments)
        self._key = key
        self._mode = mode
        self._poll_ms = poll_ms
        self._max_buffered = max_buffered
        self._idle_ms = idle_timeout_ms
        self._on_error = on_error
        self._clock = clock

    @property
    def key(self) -> str:
        """What its cursor is kept under."""
        return self._key

    async def run(self, cursor: str | None, emit: Emit) -> None:
        """Read on from the cursor, and on."""
        async with AsyncExitStack() as open_now:
            server = self._server
            if isinstance(server, str):
                server = await open_now.enter_async_context(HttpServer(server))
            try:
                await self._follow(server, Place(cursor, emit))
            except NotOfferedError as error:
                raise PermanentError(f"{self._name}: {error}") from error
            except TroubleError as error:
                if error.wait:
                    await self._clock.sleep(min(error.wait * 1000, LONGEST_WAIT_MS))
                raise UnreachableError(f"{self._name}: {error}") from error
            except AnswerError as error:
                if error.code in _EXHAUSTED:
                    raise
                raise PermanentError(f"{self._name}: {error}") from error

    async def _follow(self, server: McpServer, place: Place) -> None:
        if self._mode == "stream" or (self._mode == "auto" and await self._is_streamed(server)):
            try:
                await self._stream(server, place)
            except NotOfferedError:
                if self._mode == "stream":
                    raise
        await self._poll(server, place)

    async def _is_streamed(self, server: McpServer) -> bool:
        cursor: str | None = None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            try:
                types = types_of(await self._ask(server, "events/list", params))
            except ValueError as error:
                raise UnreachableError(
                    f"events/list was answered with what cannot be read: {error}"
                ) from error
            for each in types.events:
                if each.name == self._name:
                    return "push" in each.delivery
            if types.next_cursor in (None, "", cursor):
                return False
            cursor = types.next_cursor

    async def _ask(self, server: McpServer, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] | None = None
        async with server.request(method, params, unrouted=self._unrouted) as messages:
            async for message in messages:
                result = message.result
        if result is None:
            raise TroubleError("the server ended the answer before its end")
        return result

    def _params(self, place: Place) -> dict[str, Any]:
        return {"name": self._name, "arguments": self._arguments, "cursor": place.cursor}

    async def _stream(self, server: McpServer, place: Place) -> None:
        """Stream, and open it again where it ended. Returns never, but raises."""
        backoff = Backoff()
        while True:
            before = place.commits
            ahead = Ahead(self._max_buffered)
            async with (
                server.request("events/stream", self._params(place), unrouted=self._unrouted) as messages,
                ahead.reading(messages),
            ):
                try:
                    while frames := await ahead.take(self._idle_ms):
                        if await self._take(frames, place):
                            break
                except OverflowedError:
                    self._tell("overflow", f"more than {self._max_buffered} messages waited for the store")
                except IdleError:
                    self._tell("idle", f"nothing came for {self._idle_ms} ms, no heartbeat either")
            if place.commits > before:
                backoff.reset()
            await self._clock.sleep(backoff.pause() * 1000)

    async def _take(self, frames: Iterable[Message], place: Place) -> bool:
        """Commit what frames brought; True where the stream ends with them."""
        ended = False
        for frame in frames:
            match frame.kind:
                case "active" if frame.params.get("truncated"):
                    await place.commit()
                    place.lost()
                case "event":
                    self._add(frame.params, place)
                    if place.events >= PAGE:
                        place.at(frame.params.get("cursor"))
                        await place.commit()
                case "error":
                    self._tell("error", _words(frame.params), frame.params.get("error"))
                case "terminated":
                    self._tell("terminated", _words(frame.params), frame.params.get("error"))
                    ended = True
                case "result":
                    ended = True
                case "unreadable":
                    self._tell("invalid", "a message cannot be read", frame.params)
                case _:
                    pass
            place.at(frame.params.get("cursor"))
        await place.commit()
        return ended

    def _add(self, params: Mapping[str, Any], place: Place) -> None:
        try:
            place.add(occurrence_of(params).event())
        except ValueError as error:
            self._tell("invalid", f"an event cannot be read: {error}", dict(params))

    async def _poll(self, server: McpServer, place: Place) -> None:
        while True:
            params = {**self._params(place), "maxEvents": PAGE}
            result = await self._ask(server, "events/poll", params)
            try:
                page = page_of(result)
            except ValueError as error:
                self._tell("invalid", f"a poll's answer cannot be read: {error}", result)
                raise UnreachableError(f"a poll's answer cannot be read: {error}") from error
            if page.cursor is None and not page.events:
                raise PermanentError(f"{self._name}: it gives no cursor, so polling can never find anything")
            before = place.cursor
            if page.truncated:
                place.lost()
            for event in page.events:
                self._add(event, place)
            place.at(page.cursor)
            await place.commit()
            if not page.has_more or (not page.events and page.cursor == before):
                await self._clock.sleep(self._pause(page))

    def _pause(self, page: Page) -> float:
        return self._poll_ms if page.next_poll_ms is None else max(page.next_poll_ms, LEAST_POLL_MS)

    def _unrouted(self, message: Message) -> None:
        self._tell("unrouted", f"{message.method} belongs to no stream of this source", message.params)

    def _tell(self, kind: Trouble, message: str, data: Any = None) -> None:
        logger.warning("source %s: %s: %r", self._key, kind, message)
        if self._on_error is not None:
            try:
                self._on_error(SourceTrouble(kind, message, data))
            except Exception:
                logger.exception("on_error raised")


def mcp_events_source(
    server: McpServer | str,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    mode: Mode = "auto",
    poll_ms: int = 10_000,
    max_buffered: int = 1000,
    idle_timeout_ms: int = 300_000,
    on_error: OnError | None = None,
    clock: Clock | None = None,
) -> McpEventsSource:
    """A subscription to another server's events, for `app.attach(scope, ...)`.

    `server` is the URL of an MCP server, an `HttpServer` with a token, or a `stdio_server(...)`; several sources may
    share one. `auto` streams where the server offers it and polls otherwise, every `nextPollMs` that the server
    says, or `poll_ms`. The server's cursor is committed with the events it covers, under `key`, by default
    `mcp:<name>:<arguments>`; a first subscription starts from now. `on_error` is told of what does not end it. A
    stream for which more than `max_buffered` messages wait for the store, or that is silent for `idle_timeout_ms`,
    is opened again from the committed cursor.

    `attach` tries again, after the rungs of `retry_backoff_ms`, where the server is away, slow, or over a limit; on
    any other error, and where the transport of a shared server closed, it raises `PermanentError` with the cause.
    """
    given = dict(arguments or {})
    return McpEventsSource(
        server,
        name,
        given,
        key=key or key_of(name, given),
        mode=mode,
        poll_ms=poll_ms,
        max_buffered=max_buffered,
        idle_timeout_ms=idle_timeout_ms,
        on_error=on_error,
        clock=clock or SystemClock(),
    )


def _words(params: Mapping[str, Any]) -> str:
    error: Any = params.get("error")
    try:
        return f"{error['code']}: {error['message']}"[:500]
    except (KeyError, TypeError):
        return "the server says no more"
