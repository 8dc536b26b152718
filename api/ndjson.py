"""A body of newline-delimited JSON, read line by line: each line stands or falls by itself.

Lines that are spelled as nearly all are get decoded by msgspec and are only looked over together, some at a time.
Where one of them might not be clean, each is looked at by itself; and one that is not is read again by slower and
stricter code that says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from attend.api.clean import FIRST_AT, LAST_AT, Clean, read_clean
from attend.api.codes import LineCode
from attend.api.strict import DEEPEST, check, what
from attend.core.event import NewEvent, check_id, check_name, check_scope
from attend.errors import EventError

MAX_LINE_BYTES = 1024 * 1024


class Command(Struct, frozen=True, gc=False):
    """A flush, or with `end` the word that the unit is over. `id` is the sender's name for the request."""

    end: bool
    id: str | None


class Line(Struct, frozen=True, gc=False):
    """A good line: its number from 1, the scope, and what it asks."""

    number: int
    scope: str
    item: NewEvent | Command


class Rejection(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A line that was not taken, as the reply lists it."""

    line: int
    error: str
    message: str
    scope: str | None = None
    retry_after_ms: int | None = None


_NO_DATA = Raw(b"{}")


class _Wire(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    scope: Any = None
    id: Any = None
    at: Any = None
    name: Any = None
    data: Raw = _NO_DATA
    text: Any = None
    flush: Any = None
    end: Any = None


class _Loose(_Wire, frozen=True, gc=False, forbid_unknown_fields=False):
    """With keys that nothing reads."""


_wire = msgspec.json.Decoder(_Wire).decode
_loose = msgspec.json.Decoder(_Loose).decode
_any = msgspec.json.Decoder().decode
_KNOWN = re.compile(rb'"(?:scope|id|at|name|data|text|flush|end)"')
_ESCAPED_KEY = re.compile(rb'\\[^"]*"[ \t\r]*:')
_TOGETHER = 64 * 1024
"""Bytes that are looked at together, about."""


def read(
    body: bytes | bytearray, max_line: int = MAX_LINE_BYTES, first: int = 1
) -> Iterator[Line | Rejection]:
    r"""Each line that is not blank, good or rejected. Lines end at `\n` and nowhere else.

    A byte order mark at the start of the body is dropped. Blank lines are counted and otherwise ignored.
    """
    for some in read_some(body, max_line, first):
        yield from _one_by_one(some) if isinstance(some, Clean) else some


def _one_by_one(clean: Clean) -> Iterator[Line]:
    for number, (line, data) in enumerate(zip(clean.lines, clean.data, strict=True), clean.first):
        yield Line(number, line.scope, NewEvent(line.name, line.id, line.at, data, line.text))


def read_some(
    body: bytes | bytearray, max_line: int = MAX_LINE_BYTES, first: int = 1
) -> Iterator[Clean | Sequence[Line | Rejection]]:
    """The same, some lines at a time. `first` is the number of the first one, where others came before."""
    at = 3 if first == 1 and body[:3] == b"\xef\xbb\xbf" else 0
    number = first
    while at < len(body):
        end = len(body)
        if end - at > _TOGETHER:
            end = body.find(b"\n", at + _TOGETHER) + 1 or end
        clean = read_clean(bytes(body[at:end]), number) if end - at <= max_line else None
        if clean is not None:
            number += len(clean.lines)
            yield clean
        else:
            yield list(_read_each(body, at, end, number, max_line))
            number += body.count(b"\n", at, end)
        at = end


def _read_each(
    body: bytes | bytearray, at: int, end: int, number: int, max_line: int
) -> Iterator[Line | Rejection]:
    while at < end:
        newline = body.find(b"\n", at, end)
        stop = end if newline < 0 else newline
        if stop - at > max_line:
            yield Rejection(
                number, LineCode.LINE_TOO_LONG, f"the line has more than the {max_line} bytes it may have"
            )
        else:
            raw = bytes(body[at:stop])
            if raw and not raw.isspace():
                yield _read_line(number, raw)
        number += 1
        at = stop + 1


def _read_line(number: int, raw: bytes) -> Line | Rejection:
    wire = None
    try:
        wire = _wire_of(raw)
        return Line(number, check_scope(wire.scope), _item(wire))
    except EventError as error:
        found: Any = None if wire is None else wire.scope
        if error.code == LineCode.UNKNOWN_KEY:
            found = _any(raw).get("scope")
        return Rejection(number, error.code, str(error), found if isinstance(found, str) else None)


def _wire_of(raw: bytes) -> _Wire:
    try:
        if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
            wire = _wire(raw)
            data = bytes(wire.data)
            if data != b"{}":
                _any(data)
            rest = raw.replace(data, b"", 1) if data[0] in b"{[" else raw
            keys = _KNOWN.findall(rest)
            if len(keys) == len(set(keys)) and not (b"\\" in rest and _ESCAPED_KEY.search(rest)):
                return wire
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass  # The strict reader says what it is.
    check(raw, _Wire.__struct_fields__)
    try:
        wire = _loose(raw)
        _any(wire.data)
    except msgspec.MsgspecError as error:
        raise EventError(LineCode.BAD_JSON, f"the line is not JSON that can be kept: {error}") from error
    return wire


def _item(wire: _Wire) -> NewEvent | Command:
    id = None if wire.id is None else check_id(wire.id)
    if wire.flush is not None or wire.end is not None:
        return _command(wire, id)
    if wire.text is not None and not isinstance(wire.text, str):
        raise EventError(LineCode.BAD_TEXT, f"text is {what(wire.text)}, it must be a string")
    return NewEvent(
        check_name(wire.name),
        id,
        None if wire.at is None else _check_at(wire.at),
        bytes(wire.data),
        wire.text,
    )


def _command(wire: _Wire, id: str | None) -> Command:
    empty = bytes(wire.data) in (b"{}", b"null")
    if not (wire.name is None and wire.text is None and wire.at is None and empty):
        raise EventError(LineCode.BAD_LINE, "a line is an event, or a flush, or an end: send them apart")
    if wire.flush is not None and wire.end is not None:
        raise EventError(LineCode.BAD_LINE, "a line is a flush or an end, not both")
    if (wire.end if wire.flush is None else wire.flush) is not True:
        word = "end" if wire.flush is None else "flush"
        raise EventError(LineCode.BAD_LINE, f"{word} must be true; leave it out of an event")
    return Command(wire.end is not None, id)


def _check_at(at: Any) -> int:
    right = "it must be a whole number of milliseconds since 1970, such as 1760570000123"
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise EventError(LineCode.BAD_AT, f"at is {what(at)}, {right}")
    if not 0 < at < 10**21:
        raise EventError(LineCode.BAD_AT, f"at is {str(at)[:40]}, {right}")
    if FIRST_AT <= at <= LAST_AT and isinstance(at, int):
        return at
    for factor, unit in ((1000, "seconds"), (0.001, "microseconds"), (0.000001, "nanoseconds")):
        if FIRST_AT <= at * factor <= LAST_AT:
            raise EventError(
                LineCode.BAD_AT,
                f"at is {at}, which looks like {unit}; in milliseconds it is {int(at * factor)}",
            )
    if isinstance(at, float) and FIRST_AT <= at <= LAST_AT:
        raise EventError(LineCode.BAD_AT, f"at is {at}, {right}; {int(at)} would be right")
    raise EventError(LineCode.BAD_AT, f"at is {at}, {right}")
