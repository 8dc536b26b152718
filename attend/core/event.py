"""An event on its way in, and what may be in one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from attend.errors import EventError

MAX_SCOPE_BYTES = 512
MAX_ID_BYTES = 512
MAX_NAME_BYTES = 256
MAX_NESTING = 64
"""How deep `data` may nest: itself counts as the first level."""


class NewEvent(Struct, frozen=True, gc=False):
    """An event on its way in: no kind yet, and attend gives it an id and an `at` where it has none.

    `at` is in milliseconds. `data_json` is the JSON text of `data`, kept as it came.
    """

    name: str
    id: str | None = None
    at: int | None = None
    data_json: bytes = b"{}"
    text: str | None = None

    @property
    def data(self) -> Any:
        """`data_json`, decoded anew at each call."""
        return msgspec.json.decode(self.data_json)

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> NewEvent:
        """From `{"name", "id"?, "at"?, "data"?, "text"?}`, where `data` is any JSON value.

        Other keys are passed over, but for one that is a slip of these. Raises `EventError` for that, and where a
        value has the wrong type or is over its limit.
        """
        if not event.keys() <= _KEYS:
            refuse_slips(event, _KEYS)
        id, at, text = event.get("id"), event.get("at"), event.get("text")
        if at is not None and (type(at) is not int or not 0 <= at < 2**53):
            raise EventError("bad_at", f"at is {at!r}, it must be a whole number of milliseconds since 1970")
        if text is not None and not isinstance(text, str):
            raise EventError("bad_text", f"text is {type(text).__name__}, it must be a string")
        return cls(
            name=check_name(event.get("name")),
            id=None if id is None else check_id(id),
            at=at,
            data_json=_json(event["data"]) if "data" in event else b"{}",
            text=None if text is None else _whole("text", text),
        )


_KEYS = frozenset({"name", "id", "at", "data", "text"})
_SLIP = 0.8
"""How alike a key must be to a known one: `textt` is to `text`, `date` is not to `data`."""


def refuse_slips(keys: Iterable[object], known: Collection[str]) -> None:
    """Raise `EventError` for a key that looks like a known one misspelled: what it holds would be lost unseen.

    Any other key that nothing reads is a producer's own business.
    """
    for key in keys:
        if key in known:
            continue
        close = difflib.get_close_matches(str(key)[:64].lower(), known, 1, _SLIP)
        if close:
            raise EventError("unknown_key", f"there is no key {str(key)[:64]!r}; did you mean {close[0]}?")


def check_scope(scope: object) -> str:
    """A scope, if it may be one. Raises `EventError` with code `bad_scope`."""
    return _bounded("scope", scope, MAX_SCOPE_BYTES)


def check_id(id: object) -> str:
    """An event's or a request's id, if it may be one. Raises `EventError` with code `bad_id`."""
    return _bounded("id", id, MAX_ID_BYTES)


def check_name(name: object) -> str:
    """An event's name, if it may be one. Raises `EventError` with code `bad_name`."""
    return _bounded("name", name, MAX_NAME_BYTES)


def _bounded(what: str, value: object, most: int) -> str:
    if not isinstance(value, str) or not value:
        found = "missing" if value is None else "empty" if value == "" else type(value).__name__
        raise EventError(f"bad_{what}", f"{what} is {found}, it must be a string of 1 to {most} bytes")
    if len(value) * 4 > most:
        size = len(_whole(what, value).encode())
        if size > most:
            raise EventError(f"bad_{what}", f"{what} has {size} bytes, it may have {most}")
    return _whole(what, value)


def _whole(what: str, text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise EventError(
                f"bad_{what}", f"{what} holds half a surrogate pair, which no UTF-8 can"
            ) from error
    return text


def _json(data: object) -> bytes:
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EventError("bad_data", f"data is no JSON value: {error}") from error
    # Most data cannot nest that deep, having too few brackets.
    if text.count(b"[") + text.count(b"{") > MAX_NESTING and _depth(data) > MAX_NESTING:
        raise EventError("bad_data", f"data nests deeper than {MAX_NESTING} levels")
    return text


def _depth(data: Any) -> int:
    deepest = 0
    level: list[Any] = [data]
    while level and deepest <= MAX_NESTING:
        deepest += 1
        level = [child for value in level for child in _children(value)]
    return deepest


def _children(value: Any) -> Iterable[Any]:
    # The value was written as JSON a moment ago: what has items and is no text is an array.
    children: Iterable[Any] = ()
    if hasattr(value, "values"):
        children = value.values()
    elif hasattr(value, "__getitem__") and not isinstance(value, str):
        children = value
    return children
