"""Decisions as they come: one ordered loop over a stream, or over polls where no stream is offered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from attend.client.answer import Backoff
from attend.client.wire import EVENT, Message, NotOfferedError, TroubleError, request
from attend.errors import AnswerError, UnreachableError

START = "start"
"""A cursor no server gives: what cannot be read is answered with the oldest decision kept, and on from there."""

REMEMBERED = 4096
"""How many ids are kept, to pass over what comes again."""

HOLD_MS = 25_000
"""How long a poll is held when there is nothing."""


class Occurrence(Struct, frozen=True, rename="camel"):
    """A decision as it came. `data` is its payload; `cursor` is where to go on after it, where it is known."""

    event_id: str
    timestamp: str
    data: dict[str, Any]
    cursor: str | None = None


class Decisions:
    """An asynchronous iterator of `Occurrence`.

    `cursor` is where to go on after what was handed out and dealt with; `truncated` counts how often decisions
    were gone before they could be read.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        cursor: str | None,
        arguments: Mapping[str, Any],
        *,
        where: str,
        mode: str,
        wait: bool,
        follow: bool,
        say: Callable[[str], object] | None,
    ) -> None:
        self.cursor = cursor
        self.truncated = 0
        self._http = http
        self._where = where
        self._arguments = dict(arguments)
        self._mode = mode
        self._wait = wait
        self._follow = follow
        self._say = say or _nothing
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._backoff = Backoff()
        self._met = False
        self._away = False

    def __aiter__(self) -> AsyncGenerator[Occurrence]:
        """Read until the reader stops, or the server turns it down for good.

        Raises `AnswerError`, and `UnreachableError` where the first connection fails and it was not to wait.
        """
        return self._run()

    async def _run(self) -> AsyncGenerator[Occurrence]:
        streaming = self._mode != "poll" and self._follow
        while True:
            wait: float | None = None
            try:
                async with aclosing(self._stream() if streaming else self._poll()) as found:
                    async for occurrence in found:
                        yield occurrence
                if not streaming and not self._follow:
                    return
                why = "the server ended the stream"
            except NotOfferedError as error:
                if self._mode == "auto" and streaming:
                    streaming = False
                    continue
                raise AnswerError(200, "", str(error)) from error
            except TroubleError as error:
                if not self._met and not self._wait:
                    raise UnreachableError(str(error)) from error
                why, wait = str(error), error.wait
            if not self._away:
                self._away = True
                self._say(f"{why}; connecting again")
            await asyncio.sleep(max(wait or 0, self._backoff.pause()))

    async def _stream(self) -> AsyncGenerator[Occurrence]:
        params = {"name": EVENT, "arguments": self._arguments, "cursor": self.cursor}
        async with request(self._http, self._where, "events/stream", params) as messages:
            async for message in messages:
                match message.kind:
                    case "active":
                        self._connected()
                        self._at(message.params, truncated=bool(message.params.get("truncated")))
                    case "event":
                        occurrence = _read(message.params)
                        if self._is_new(occurrence):
                            yield occurrence
                        self._at(message.params)
                    case "heartbeat":
                        self._at(message.params)
                    case "error":
                        self._say(_words(message))
                    case "terminated" | "result":
                        return
                    case _:
                        pass

    async def _poll(self) -> AsyncGenerator[Occurrence]:
        while True:
            params = {
                "name": EVENT,
                "arguments": self._arguments,
                "cursor": self.cursor,
                "timeoutMs": HOLD_MS if self._follow else 0,
            }
            began = asyncio.get_running_loop().time()
            async with request(self._http, self._where, "events/poll", params) as messages:
                page = [message async for message in messages][-1:]
            result = page[0].result if page else None
            if result is None:
                raise TroubleError("the server ended the answer before its end")
            self._connected()
            if result.get("truncated"):
                self._gone()
            events: list[dict[str, Any]] = result.get("events") or []
            cursor = result.get("cursor")
            for place, event in enumerate(events, 1):
                occurrence = _read({**event, "cursor": cursor if place == len(events) else None})
                if self._is_new(occurrence):
                    yield occurrence
            self._at(result)
            if not self._follow and not result.get("hasMore"):
                return
            held = asyncio.get_running_loop().time() - began > 1
            if not events and not result.get("hasMore") and not held:
                await asyncio.sleep(max(0.05, float(result.get("nextPollMs") or 1000) / 1000))

    def _connected(self) -> None:
        if self._away:
            self._say("connected again")
        self._met, self._away = True, False
        self._backoff.reset()

    def _at(self, params: Mapping[str, Any], *, truncated: bool = False) -> None:
        if truncated:
            self._gone()
        cursor = params.get("cursor")
        if isinstance(cursor, str):
            self.cursor = cursor

    def _gone(self) -> None:
        if self.cursor == START:
            return
        self.truncated += 1
        self._say("decisions after this place are gone already; going on with the oldest that is kept")

    def _is_new(self, occurrence: Occurrence) -> bool:
        if occurrence.event_id in self._seen:
            return False
        self._seen[occurrence.event_id] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True


def _read(params: Mapping[str, Any]) -> Occurrence:
    try:
        return msgspec.convert(params, Occurrence)
    except msgspec.ValidationError as error:
        raise TroubleError(f"it sent what cannot be read: {error}") from error


def _words(message: Message) -> str:
    error: Any = message.params.get("error")
    try:
        return str(error["message"])
    except (KeyError, TypeError):
        return "the server has trouble"


def _nothing(_: str) -> None:
    """Where nobody wants to know."""
