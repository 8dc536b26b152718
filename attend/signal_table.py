"""The table of signals as a configuration gives it: which events are news, by name.

Each event has `news`, and beside it the keys of `Signal`, of which `people` is spelled `for`. `news = "none"` says
that an event is none. What is not given for an event that is news by default stays as it is by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from attend.core.news import Alert, NewsCode, Signal
from attend.core.signals import DEFAULT_SIGNALS
from attend.errors import ConfigError
from attend.option import nearest
from attend.table import table_of

NONE = "none"
KEYS = tuple("for" if name == "people" else name for name in Signal.__struct_fields__)
"""What may stand in an event's table."""

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {
            **dict.fromkeys(KEYS, _TEXT),
            "news": {"enum": [*NewsCode, NONE]},
            "alert": {"enum": list(Alert)},
            "codes": {"type": "array", "items": _TEXT},
            "at_least": {"type": "number"},
        },
        "additionalProperties": False,
    },
}
"""The JSON Schema of the table."""

Given = Mapping[str, Any]


def signals(texts: Sequence[str]) -> dict[str, Any]:
    """A setting's text as the table: JSON, or a file of it, left as it is where nothing is wrong with it."""
    found, where = table_of(texts, '{"deploy.broke":{"news":"run_failed"}}')
    problems: list[str] = []
    for name, given in found.items():
        _signal(name, given, problems)
    if problems:
        raise ValueError("\n".join(where + problem for problem in problems))
    return found


def made(given: Mapping[str, Signal | Given | None]) -> dict[str, Signal | None]:
    """Signals by the name of their event, in order. Raises `ConfigError` with all that is wrong."""
    problems: list[str] = []
    found = {
        name: each if each is None or isinstance(each, Signal) else _signal(name, each, problems)
        for name, each in sorted(given.items())
    }
    if problems:
        raise ConfigError(*(f"signals: {problem}" for problem in problems))
    return found


def _signal(name: str, given: object, problems: list[str]) -> Signal | None:
    if not isinstance(given, Mapping):
        problems.append(f'{name!r} is no table; write "{name}" = {{ news = "run_failed" }}')
        return None
    table = dict(cast("Mapping[str, Any]", given))
    before = len(problems)
    for key in table:
        if key not in KEYS:
            close = nearest(key, KEYS)
            hint = f"did you mean {close}?" if close else f"the keys are {', '.join(KEYS)}"
            problems.append(f"{name!r} has no key {key}; {hint}")
    news = table.get("news")
    if news == NONE:
        return None
    default = DEFAULT_SIGNALS.get(name)
    if news is None and default is None:
        problems.append(f"{name!r} has no news; it is one of {', '.join([*NewsCode, NONE])}")
    elif news is not None and news not in set(NewsCode):
        problems.append(f"{name!r} has news {news!r}; it is one of {', '.join([*NewsCode, NONE])}")
    if len(problems) > before:
        return None
    fields = {("people" if key == "for" else key): value for key, value in table.items()}
    try:
        read = msgspec.convert({"news": NewsCode.ALERT, **fields}, Signal)
    except msgspec.ValidationError as error:
        problems.append(f"{name!r}: {str(error).replace('`$.people`', '`for`').replace('`$.', '`')}")
        return None
    if default is not None:
        read = replace(default, **{key: getattr(read, key) for key in fields})
    _sound(name, read, problems)
    return read if len(problems) == before else None


def _sound(name: str, signal: Signal, problems: list[str]) -> None:
    if signal.news is NewsCode.ALERT and signal.alert is None:
        problems.append(f"{name!r} is an alert; give alert, one of {', '.join(Alert)}")
    if signal.news is not NewsCode.ALERT and signal.alert is not None:
        problems.append(f"{name!r} is {signal.news} and has an alert; only news = 'alert' has one")
    if signal.opens is not None and signal.resolves is not None and signal.share is None:
        problems.append(f"{name!r} opens and resolves at once; give one of them, or share with at_least")
    for code in signal.codes:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", code):
            problems.append(f"{name!r} has the code {code!r}; it must be small letters, digits and _")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", signal.tool):
        problems.append(f"{name!r} has the tool {signal.tool!r}, which is no name of one")
