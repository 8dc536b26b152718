"""Lines into scopes: what every way in has in common, from the bytes of some lines to what became of each."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

from msgspec import Struct

from attend.api.auth import Principal
from attend.api.codes import LineCode
from attend.api.ndjson import Command, Line, Rejection, read_some
from attend.app import Attend
from attend.core.event import NewEvent
from attend.core.input import Ended, Flushed, Input, Pushed
from attend.core.step import Taken
from attend.core.types import Event
from attend.engine import Applied
from attend.errors import ConflictError, EventError, StateFormatError, StoreCorruptError

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
    """What became of lines. The three counts add up to those that were not blank."""

    rejected: list[Rejection]
    accepted: int = 0
    duplicates: int = 0
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


class Intake:
    """Takes lines in for one app, each at most `max_line` bytes long."""

    def __init__(self, app: Attend, max_line: int) -> None:
        self._app = app
        self._max_line = max_line

    async def take(self, lines: bytes | bytearray, principal: Principal, *, first: int = 1) -> Reply:
        """Take lines in, of which the first has this number; returns once all that was accepted has committed.

        Raises `StoreUnavailableError`, and then some of them may have been taken.
        """
        reply = Reply([])
        parts = await self._sort(lines, first, principal, reply)
        turn = 0
        while round := {scope: queue[turn] for scope, queue in parts.items() if turn < len(queue)}:
            results = await self._app.engine.apply_many({scope: part.inputs for scope, part in round.items()})
            for scope, part in round.items():
                _note(scope, part, results[scope], reply)
            turn += 1
        reply.rejected.sort(key=lambda rejection: rejection.line)
        reply.conflicts.sort(key=lambda conflict: conflict.line)
        return reply

    async def _sort(
        self, body: bytes | bytearray, first: int, principal: Principal, reply: Reply
    ) -> dict[str, list[_Part]]:
        """The good lines by scope, each scope's in their order; the others go to the reply."""
        parts: dict[str, list[_Part]] = {}
        for turn, lines in enumerate(read_some(body, self._max_line, first)):
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
