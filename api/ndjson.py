"""A body of newline-delimited JSON, read line by line: each line stands or falls by itself.

A line that is clean, as nearly all are, is decoded twice by msgspec and looked over with two searches. One that is
not, or might not be, is read again by slower and stricter code that says what is wrong with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from attend.api.codes import LineCode
from attend.core.event import MAX_NESTING, NewEvent, check_id, check_name, check_scope
from attend.errors import EventError

MAX_LINE_BYTES = 1024 * 1024
FIRST_AT, LAST_AT = 10**11, 10**14 - 1
"""What milliseconds look like: 1973 to 5138. Seconds of our time are below, microseconds above."""


class Command(Struct, frozen=True):
    """A flush, or with `end` the word that the unit is over. `id` is the sender's name for the request."""

    end: bool
    id: str | None


class Line(Struct, frozen=True):
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


class _Wire(Struct, frozen=True):
    scope: Any = None
    id: Any = None
    at: Any = None
    name: Any = None
    data: Raw = Raw(b"{}")
    text: Any = None
    flush: Any = None
    end: Any = None


_wire = msgspec.json.Decoder(_Wire).decode
_any = msgspec.json.Decoder().decode
_KNOWN = re.compile(rb'"(?:scope|id|at|name|data|text|flush|end)"')
_ESCAPED_KEY = re.compile(rb'\\[^"]*"[ \t\r]*:')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_MOST_DIGITS = 4000
"""Python reads whole numbers of up to 4,300 digits back."""
_DEEPEST = MAX_NESTING + 1
"""Brackets open at once in a line: its own, and those of `data`."""


def read(body: bytes | bytearray, max_line: int = MAX_LINE_BYTES) -> Iterator[Line | Rejection]:
    r"""Each line that is not blank, good or rejected. Lines end at `\n` and nowhere else.

    A byte order mark at the start of the body is dropped. Blank lines are counted and otherwise ignored.
    """
    at = 3 if body[:3] == b"\xef\xbb\xbf" else 0
    number = 0
    while at < len(body):
        end = body.find(b"\n", at)
        end = len(body) if end < 0 else end
        number += 1
        if end - at > max_line:
            yield Rejection(
                number, LineCode.LINE_TOO_LONG, f"the line has {end - at} bytes, it may have {max_line}"
            )
        else:
            raw = bytes(body[at:end])
            if raw and not raw.isspace():
                yield _read_line(number, raw)
        at = end + 1


def _read_line(number: int, raw: bytes) -> Line | Rejection:
    wire = None
    try:
        wire = _wire_of(raw)
        return Line(number, check_scope(wire.scope), _item(wire))
    except EventError as error:
        scope = wire.scope if wire is not None and isinstance(wire.scope, str) else None
        return Rejection(number, error.code, str(error), scope)


def _wire_of(raw: bytes) -> _Wire:
    try:
        if raw.count(b"[") + raw.count(b"{") <= _DEEPEST:
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
    _check(raw)
    try:
        wire = _wire(raw)
        _any(wire.data)
    except msgspec.MsgspecError as error:
        raise EventError(LineCode.BAD_JSON, f"the line is not JSON that can be kept: {error}") from error
    return wire


def _item(wire: _Wire) -> NewEvent | Command:
    id = None if wire.id is None else check_id(wire.id)
    if wire.flush is not None or wire.end is not None:
        return _command(wire, id)
    if wire.text is not None and not isinstance(wire.text, str):
        raise EventError(LineCode.BAD_TEXT, f"text is {_what(wire.text)}, it must be a string")
    return NewEvent(
        check_name(wire.name),
        id,
        None if wire.at is None else _check_at(wire.at),
        bytes(wire.data),
        wire.text,
    )


def _command(wire: _Wire, id: str | None) -> Command:
    if wire.name is not None or wire.text is not None or wire.at is not None:
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
        raise EventError(LineCode.BAD_AT, f"at is {_what(at)}, {right}")
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


def _what(value: Any) -> str:
    names: dict[Any, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    return "null" if value is None else names.get(value.__class__, "an object")


def _check(raw: bytes) -> None:
    """Read a line as strictly as it goes; raises `EventError` with the first thing that is wrong."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise EventError(LineCode.BAD_UTF8, f"byte {error.start + 1} is not UTF-8: {error.reason}") from error
    if _depth(text) > _DEEPEST:
        raise EventError(LineCode.TOO_DEEP, f"data nests deeper than {MAX_NESTING} levels")
    top: list[tuple[str, Any]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        top[:] = found  # The outermost object comes last.
        return dict(found)

    try:
        value: Any = json.loads(
            text, object_pairs_hook=pairs, parse_constant=_no_constant, parse_float=_finite, parse_int=_short
        )
    except json.JSONDecodeError as error:
        raise EventError(LineCode.BAD_JSON, f"{error.msg} at character {error.pos + 1}") from error
    except ValueError as error:
        raise EventError(LineCode.BAD_JSON, str(error)) from error
    if not isinstance(value, dict):
        raise EventError(LineCode.BAD_LINE, f"the line is {_what(value)}, it must be an object")
    try:
        json.dumps(top, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise EventError(
            LineCode.BAD_JSON, "a string holds half a surrogate pair, which no UTF-8 can"
        ) from error
    names = [name for name, _ in top if name in _Wire.__struct_fields__]
    for name in names:
        if names.count(name) > 1:
            raise EventError(LineCode.REPEATED_KEY, f"{name} stands there {names.count(name)} times")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is more than a 64-bit number holds")
    return value


def _short(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text)} digits, it may have {_MOST_DIGITS}")
    return int(text)


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in re.sub(r"[^\[\]{}]+", "", _STRING.sub("", text)):
        depth += 1 if character in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
