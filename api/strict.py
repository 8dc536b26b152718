"""A line that is not clean, or might not be, read as strictly as it goes: says the first thing that is wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

from attend.api.codes import LineCode
from attend.core.event import MAX_NESTING, refuse_slips
from attend.errors import EventError

DEEPEST = MAX_NESTING + 1
"""Brackets open at once in a line: its own, and those of `data`."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_MOST_DIGITS = 4000
"""Python reads whole numbers of up to 4,300 digits back."""


def check(raw: bytes, known: Collection[str]) -> None:
    """Raise `EventError` with the first thing that is wrong; `known` are the keys that are read, each only once."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise EventError(LineCode.BAD_UTF8, f"byte {error.start + 1} is not UTF-8: {error.reason}") from error
    if _depth(text) > DEEPEST:
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
        raise EventError(LineCode.BAD_JSON, _not_json(text, error)) from error
    except ValueError as error:
        raise EventError(LineCode.BAD_JSON, str(error)) from error
    if not isinstance(value, dict):
        raise EventError(LineCode.BAD_LINE, f"the line is {what(value)}, it must be an object")
    try:
        json.dumps(top, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise EventError(
            LineCode.BAD_JSON, "a string holds half a surrogate pair, which no UTF-8 can"
        ) from error
    names = [name for name, _ in top if name in known]
    for name in names:
        if names.count(name) > 1:
            raise EventError(LineCode.REPEATED_KEY, f"{name} stands there {names.count(name)} times")
    if len(names) != len(top):
        refuse_slips((name for name, _ in top), known)


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong, and what would be right where it is what newcomers run into."""
    said = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
    wrong = f"{said} at character {error.pos + 1}"
    if error.msg == "Extra data" and text[error.pos : error.pos + 1] in "{[":
        return f"{wrong}: two JSON values are on one line; with curl send --data-binary, for -d takes the newlines out"
    if text.strip()[:1] not in ("{", "["):
        return f'{wrong}: the line is no JSON object; plain text goes as {{"scope":"...","name":"...","text":"..."}}'
    return wrong


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


def what(value: Any) -> str:
    """What kind of JSON value it is, as a message calls it."""
    names: dict[Any, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    return "null" if value is None else names.get(value.__class__, "an object")
