"""Settings that are tables of their own: how their text is read, as `key=value`, as JSON, or from a file of it.

A reader takes every text that was given for the setting and raises `ValueError` saying what is wrong and what
would be right, a line a problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from attend.core.rules import Rules
from attend.core.types import Kind, Route
from attend.option import KINDS, nearest

_NOT_SETTLE = {"act_threshold", "sink", "dead_letter", "on_judge_down", "signals"}
SETTLE = tuple(name for name in Rules.__struct_fields__ if name not in _NOT_SETTLE)
"""The keys of `--settle`."""


def table_of(texts: Sequence[str], like: str) -> tuple[dict[str, Any], str]:
    """JSON, or a file of it, as a table; and the file, if it is one, as a problem in it begins.

    Raises `ValueError` where it is none, or gives a name twice.
    """
    where, pairs, problems = _object(texts, like)
    return _sound(pairs, problems), where


def kinds(texts: Sequence[str]) -> dict[str, str]:
    """Event names to kinds, in order: JSON, or a file of it."""
    where, pairs, problems = _object(texts, '{"user.said":"flush"}')
    for name, value in pairs.items():
        if isinstance(value, dict):
            problems.append(f"{where}{name!r} is a table; a name with dots in it is written in quotes")
        elif not isinstance(value, str) or value not in set(Kind):
            problems.append(
                f"{where}{name!r} has {json.dumps(value)}, which is no kind; the kinds are {KINDS}"
            )
        if not name:
            problems.append(f"{where}a name is empty")
    return _sound(pairs, problems)


def criteria(texts: Sequence[str]) -> dict[str, str]:
    """Routes to when each is right: JSON, or a file of it."""
    where, pairs, problems = _object(texts, '{"interrupt":"Somebody waits."}')
    for name in pairs.keys() - set(Route):
        close = nearest(name, Route)
        hint = f"did you mean {close}?" if close else f"the routes are {', '.join(Route)}"
        problems.append(f"{where}{name!r} is no route; {hint}")
    return _sound(pairs, problems + _wordless(where, pairs))


def predicates(texts: Sequence[str]) -> dict[str, str]:
    """Names to yes-or-no questions: JSON, or a file of it."""
    where, pairs, problems = _object(texts, '{"asked":"Did the user ask for this?"}')
    return _sound(pairs, problems + _wordless(where, pairs))


def _wordless(where: str, pairs: Mapping[str, Any]) -> list[str]:
    return [
        f"{where}{name!r} has {json.dumps(value)}, it must be a text"
        for name, value in pairs.items()
        if not isinstance(value, str) or not value.strip() or not name.strip()
    ]


def _sound(pairs: dict[str, Any], problems: Sequence[str]) -> dict[str, Any]:
    if problems:
        raise ValueError("\n".join(problems))
    return pairs


def _object(texts: Sequence[str], like: str) -> tuple[str, dict[str, Any], list[str]]:
    """The file, if it is one, as a problem in it begins; the pairs; what is wrong with them so far."""
    text = texts[-1].strip()
    where = ""
    if not text.startswith(("{", "[")):
        where = f"{text}: "
        try:
            text = Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ValueError(
                f"{where}{reason}; give a file that can be read, or JSON such as {like}"
            ) from None
    problems: list[str] = []
    return where, _pairs(text, where, problems), problems


def _pairs(text: str, where: str, problems: list[str]) -> dict[str, Any]:
    """An object of JSON, in order; a repeated name is a problem, as it would leave the order in doubt."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        problems.extend(f"{where}{name!r} is given twice" for name in repeated)
        return dict(pairs)

    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - it is the text that is wrong
            f'{where}it is not an object, as {{"user.said":"flush"}} is'
        )
    return cast("dict[str, Any]", value)


def settle(texts: Sequence[str]) -> dict[str, Any]:
    """Keys of the settle table: `key=value`, several with commas between, or a JSON object."""
    problems: list[str] = []
    found: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            found.update(_pairs(text, "", problems))
            continue
        for part in re.split(r",(?=\s*[A-Za-z_]+\s*=)", text):
            name, equals, value = part.partition("=")
            if equals:
                found[name.strip()] = value.strip()
            else:
                problems.append(f"{part.strip()!r} is not key=value")
    values = {name: _settle_value(name, value, problems) for name, value in found.items()}
    if problems:
        raise ValueError("\n".join(problems))
    return values


def _settle_value(name: str, value: Any, problems: list[str]) -> Any:
    if name not in SETTLE:
        close = nearest(name, SETTLE)
        hint = f"did you mean {close}?" if close else f"the keys are {', '.join(SETTLE)}"
        problems.append(f"{name!r} is no settle key; {hint}")
        return None
    ladder = name == "retry_backoff_ms"
    if isinstance(value, str):
        rungs: Any = [part.strip() for part in value.strip("[]").split(",")] if value.strip("[] ") else []
        value = rungs if ladder else value
    try:
        if ladder:
            return msgspec.convert(value, list[int], strict=False)
        return msgspec.convert(value, int, strict=not isinstance(value, str))
    except msgspec.ValidationError:
        like = "whole numbers, such as 1000,4000,16000" if ladder else "a whole number"
        problems.append(f"{name} is {value!r}, it must be {like}")
        return None


def waits(texts: Sequence[str]) -> tuple[str, ...]:
    """Durations in milliseconds, with commas between."""
    found = tuple(each.strip() for each in texts[-1].split(","))
    if not all(re.fullmatch(r"[1-9][0-9]{0,8}", each) for each in found):
        raise ValueError(f"{texts[-1]!r} is not whole numbers of milliseconds with commas between")
    return found
