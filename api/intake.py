"""Lines into scopes: what every way in has in common, from the bytes of some lines to what became of each."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

from msgspec import Struct

from attend.api.auth import Principal
from attend.api.clean import Clean
from attend.api.codes import LineCode
from attend.api.ndjson import Command, Line, Rejection, read_some
from attend.app import Attend
from attend.core.event import NewEvent
from attend.core.input import Ended, Flushed, Input, Pushed
from attend.core.step import Taken
from attend.core.types import Event, Kind
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


class _Part:
    """Inputs of one scope that go into one commit, and the lines each came from."""

    __slots__ = ("_taken", "events", "inputs", "lines", "numbers", "size")

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.lines: list[list[int]] = []
        self.events: list[Event] = []
        """What goes into the next input, with the lines' `numbers`."""
        self.numbers: list[int] = []
        self.size = 0
        """Of the content, about."""
        self._taken = 0

    def ask(self, input: Flushed | Ended, line: int) -> None:
        self.close()
        self.inputs.append(input)
        self.lines.append([line])
        self._taken += 1

    def close(self) -> None:
        if self.events:
            self.inputs.append(Pushed(tuple(self.events)))
            self.lines.append(self.numbers)
            self._taken += len(self.events)
            self.events, self.numbers = [], []

    @property
    def is_full(self) -> bool:
        return self.size >= _PART_BYTES or self._taken + len(self.events) >= _PART_EVENTS


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
        for turn, some in enumerate(read_some(body, self._max_line, first)):
            if turn:
                await asyncio.sleep(0)  # Other requests get a turn.
            if isinstance(some, Clean):
                self._add_clean(parts, some, principal, reply)
            else:
                for line in some:
                    self._add(parts, line, principal, reply)
        for queue in parts.values():
            for part in queue:
                part.close()
        return parts

    def _add_clean(
        self, parts: dict[str, list[_Part]], clean: Clean, principal: Principal, reply: Reply
    ) -> None:
        app = self._app
        kinds: dict[str, Kind] = {}
        for number, (line, data) in enumerate(zip(clean.lines, clean.data, strict=True), clean.first):
            scope, id, name, at, text = line.scope, line.id, line.name, line.at, line.text
            kind = kinds.get(name)
            if kind is None or id is None or at is None:
                if not app.kinds_go_by_name or id is None or at is None:
                    event = NewEvent(name, id, at, data, text)
                    self._add(parts, Line(number, scope, event), principal, reply)
                    continue
                kind = kinds[name] = app.kind_of(NewEvent(name))
            queue = parts.get(scope)
            if queue is None:
                if not principal.covers(scope):
                    reply.rejected.append(_forbidden(number, scope))
                    continue
                queue = parts[scope] = [_Part()]
            part = queue[-1]
            if part.is_full:
                part = _Part()
                queue.append(part)
            part.events.append(Event(id, name, kind, at, data, text))
            part.numbers.append(number)
            part.size += len(data) if text is None else len(data) + len(text)

    def _add(
        self, parts: dict[str, list[_Part]], line: Line | Rejection, principal: Principal, reply: Reply
    ) -> None:
        if isinstance(line, Rejection):
            reply.rejected.append(line)
            return
        scope, item = line.scope, line.item
        if not principal.covers(scope):
            reply.rejected.append(_forbidden(line.number, scope))
            return
        event: Event | None = None
        if isinstance(item, NewEvent):
            try:
                event = self._app.accept(item)
            except EventError as error:
                reply.rejected.append(Rejection(line.number, error.code, str(error), scope))
                return
        queue = parts.setdefault(scope, [])
        if not queue or queue[-1].is_full:
            queue.append(_Part())
        part = queue[-1]
        if event is not None:
            part.events.append(event)
            part.numbers.append(line.number)
            part.size += event.size
        elif isinstance(item, Command):
            id = item.id or secrets.token_hex(12)
            part.ask(Ended(id) if item.end else Flushed(id), line.number)


def _forbidden(line: int, scope: str) -> Rejection:
    return Rejection(line, LineCode.FORBIDDEN, "this token may not send to this scope", scope)


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
