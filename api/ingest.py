"""`POST /v1/ingest`: a body of lines in, what became of each out, once all that was taken has committed."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence

from msgspec import Struct

from attend.api.answer import GoneError, Receive, Refused, Scope, Send, answer, only, refuse
from attend.api.auth import Principal, Right, principal_of, require
from attend.api.body import Flight, read_body
from attend.api.codes import LineCode, RequestCode
from attend.api.ndjson import Command, Line, Rejection, read_some
from attend.api.settings import ApiSettings
from attend.app import Attend
from attend.core.event import NewEvent
from attend.core.input import Ended, Flushed, Input, Pushed
from attend.core.step import Taken
from attend.core.types import Event
from attend.engine import Applied
from attend.errors import (
    ConflictError,
    EventError,
    StateFormatError,
    StoreCorruptError,
    StoreUnavailableError,
)

logger = logging.getLogger(__name__)

RETRY_MS = 1000
"""When to send again what met a full outbox, a conflict, or a store that cannot commit."""
_PART_EVENTS, _PART_BYTES = 500, 256 * 1024
"""What of one scope goes into one commit, about."""


class Conflict(Struct, frozen=True):
    """An event whose id was known, with other content: the first stands."""

    line: int
    scope: str
    id: str


class Reply(Struct, omit_defaults=True):
    """What became of a body. The three counts add up to its lines that were not blank."""

    rejected: list[Rejection]
    accepted: int = 0
    duplicates: int = 0
    conflicts: list[Conflict] = []


class _Answer(Struct, omit_defaults=True):
    accepted: int
    duplicates: int
    rejected: list[Rejection]
    conflicts: list[Conflict] = []


class _Part(Struct):
    """Inputs of one scope that go into one commit, and the lines each came from."""

    inputs: list[Input] = []
    lines: list[list[int]] = []
    events: list[Event] = []
    size: int = 0
    count: int = 0

    def add(self, event: Event, line: int) -> None:
        if not self.events:
            self.lines.append([])
        self.events.append(event)
        self.lines[-1].append(line)
        self.size += event.size
        self.count += 1

    def ask(self, input: Flushed | Ended, line: int) -> None:
        self.close()
        self.inputs.append(input)
        self.lines.append([line])
        self.count += 1

    def close(self) -> None:
        if self.events:
            self.inputs.append(Pushed(tuple(self.events)))
            self.events = []

    @property
    def is_full(self) -> bool:
        return self.count >= _PART_EVENTS or self.size >= _PART_BYTES


class Ingest:
    """Takes bodies in for one app."""

    def __init__(self, app: Attend, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings
        self.flight = Flight(settings.max_in_flight_bytes, settings.max_in_flight_requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The route, as an ASGI app."""
        try:
            only(scope, "POST")
            principal = principal_of(scope)
            require(principal, Right.INGEST)
            with self.flight.board() as ticket:
                body = await read_body(
                    scope,
                    receive,
                    ticket,
                    max_body=self._settings.max_body,
                    deadline_ms=self._settings.body_deadline_ms,
                )
                reply = await self.take(body, principal)
            await answer(send, 200, reply)
        except GoneError:
            return
        except Refused as refused:
            await refuse(send, refused)
        except StoreUnavailableError as error:
            await refuse(send, _unavailable(str(error)))
        except Exception:
            # A fault of ours says nothing about what committed, which is what 503 means to a sender.
            logger.exception("a body could not be taken in")
            await refuse(send, _unavailable("attend failed; its log says how"))

    async def take(self, body: bytes | bytearray, principal: Principal) -> object:
        """Take a body in. Raises `StoreUnavailableError`, or `Refused` when each line met a full outbox."""
        reply = Reply([])
        parts = await self._sort(body, principal, reply)
        turn = 0
        while round := {scope: queue[turn] for scope, queue in parts.items() if turn < len(queue)}:
            results = await self._app.engine.apply_many({scope: part.inputs for scope, part in round.items()})
            for scope, part in round.items():
                _note(scope, part, results[scope], reply)
            turn += 1
        reply.rejected.sort(key=lambda rejection: rejection.line)
        full = sum(rejection.error == LineCode.OUTBOX_FULL for rejection in reply.rejected)
        if full and not reply.accepted and not reply.duplicates and full == len(reply.rejected):
            raise Refused(429, RequestCode.OUTBOX_FULL, reply.rejected[0].message, retry_after_ms=RETRY_MS)
        reply.conflicts.sort(key=lambda conflict: conflict.line)
        return _Answer(reply.accepted, reply.duplicates, reply.rejected, reply.conflicts)

    async def _sort(
        self, body: bytes | bytearray, principal: Principal, reply: Reply
    ) -> dict[str, list[_Part]]:
        """The good lines by scope, each scope's in their order; the others go to the reply."""
        parts: dict[str, list[_Part]] = {}
        for turn, lines in enumerate(read_some(body, self._settings.max_line)):
            if turn:
                await asyncio.sleep(0)  # Other requests get a turn.
            for line in lines:
                if isinstance(line, Rejection):
                    reply.rejected.append(line)
                elif not principal.covers(line.scope):
                    reply.rejected.append(
                        Rejection(
                            line.number,
                            LineCode.FORBIDDEN,
                            "this token may not send to this scope",
                            line.scope,
                        )
                    )
                else:
                    self._add(parts.setdefault(line.scope, []), line, reply)
        for queue in parts.values():
            for part in queue:
                part.close()
        return {scope: queue for scope, queue in parts.items() if queue}

    def _add(self, queue: list[_Part], line: Line, reply: Reply) -> None:
        item = line.item
        event: Event | None = None
        if isinstance(item, NewEvent):
            try:
                event = self._app.accept(item)
            except EventError as error:
                reply.rejected.append(Rejection(line.number, error.code, str(error), line.scope))
                return
        if not queue or queue[-1].is_full:
            queue.append(_Part())
        if event is not None:
            queue[-1].add(event, line.number)
        elif isinstance(item, Command):
            id = item.id or secrets.token_hex(12)
            queue[-1].ask(Ended(id) if item.end else Flushed(id), line.number)


def _note(scope: str, part: _Part, result: Applied | Exception, reply: Reply) -> None:
    """Add to the reply what became of one part."""
    if isinstance(result, Exception):
        code, message, retry_after_ms = _explain(result)
        for lines in part.lines:
            for line in lines:
                reply.rejected.append(Rejection(line, code, message, scope, retry_after_ms))
        return
    for input, lines, came in zip(part.inputs, part.lines, result.replies, strict=True):
        if not isinstance(came, Taken):
            reply.accepted += 1  # A flush or an end: whether it found anything is not asked.
            continue
        events = input.events if isinstance(input, Pushed) else ()
        reply.accepted += came.accepted
        reply.duplicates += len(came.duplicates)
        reply.conflicts += [Conflict(lines[each], scope, events[each].id) for each in came.conflicts]
        reply.rejected += _refused(scope, lines, came)


def _refused(scope: str, lines: Sequence[int], came: Taken) -> list[Rejection]:
    message = f"the {came.full} of this scope is full; it takes events again once it drains"
    return [Rejection(lines[each], LineCode.OUTBOX_FULL, message, scope, RETRY_MS) for each in came.refused]


def _explain(error: Exception) -> tuple[LineCode, str, int | None]:
    """What an error of one scope says to its lines; raises what stops the whole body."""
    match error:
        case ConflictError():
            return LineCode.CONFLICT, "other writers were first, every time; send it again", RETRY_MS
        case StoreCorruptError() | StateFormatError():
            return LineCode.SCOPE_UNREADABLE, str(error), None
        case _:
            raise error


def _unavailable(why: str) -> Refused:
    return Refused(
        503,
        RequestCode.UNAVAILABLE,
        f"nothing is said to be taken: {why}; send all of it again, what did commit comes back as duplicates",
        retry_after_ms=RETRY_MS,
    )
