"""One setting: its flag, its variable, how its text is read, and how it is written back.

A reader takes every text that was given for the setting and raises `ValueError` saying what is wrong and what
would be right, a line a problem.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from attend.core.rules import Rules
from attend.core.types import Kind

SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""How long a path the system takes for a unix socket."""

_NOT_SETTLE = {"act_threshold", "sink", "dead_letter", "on_judge_down"}
SETTLE = tuple(name for name in Rules.__struct_fields__ if name not in _NOT_SETTLE)
"""The keys of `--settle`."""


class Option(Struct, frozen=True):
    """A setting by the name of its field in `Settings`. `default` is how it is shown to people.

    A `secret` is never shown, and an empty variable is an error rather than left out. `merges` says that what
    a flag and the variable give is put together, key by key.
    """

    name: str
    parse: Callable[[Sequence[str]], Any]
    help: str
    default: str
    secret: bool = False
    merges: bool = False

    @property
    def flag(self) -> str:
        """`--act-threshold`; a setting that may be repeated has its flag in the singular."""
        return "--allow-host" if self.name == "allow_hosts" else "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """`ATTEND_ACT_THRESHOLD`."""
        return "ATTEND_" + self.name.upper()

    def text(self, value: Any) -> str:
        """A value as the text of its variable, which `parse` reads back to the same."""
        if isinstance(value, dict):
            return json.dumps(value)
        if isinstance(value, tuple):
            return ",".join(cast("tuple[str, ...]", value))
        return str(value)


def nearest(text: str, names: Iterable[str]) -> str | None:
    """The name that the text most looks like, if any does."""
    found = difflib.get_close_matches(text, list(names), 1, 0.75)
    return found[0] if found else None


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    return re.sub(r"(?<=://).*@", "***@", url.partition("?")[0])


def word(texts: Sequence[str]) -> str:
    """Any text but nothing, without blanks around it."""
    text = texts[-1].strip()
    if not text:
        raise ValueError("is empty")
    return text


def integer(least: int, most: int | None = None) -> Callable[[Sequence[str]], int]:
    """A whole number within bounds."""
    bounds = f"{least} or more" if most is None else f"from {least} to {most}"

    def parse(texts: Sequence[str]) -> int:
        text = texts[-1].strip()
        value = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
        if value is None or value < least or (most is not None and value > most):
            raise ValueError(f"{text!r} is not a whole number {bounds}")
        return value

    return parse


def share(texts: Sequence[str]) -> float:
    """A number; `Rules` has its bounds."""
    try:
        return float(texts[-1])
    except ValueError:
        raise ValueError(f"{texts[-1]!r} is not a number above 0 and at most 1") from None


_UNITS = {"": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3}


def size(texts: Sequence[str]) -> int:
    """Bytes, as a number or with a unit."""
    found = re.fullmatch(r"([0-9]{1,15}) ?(|kib|mib|gib)", texts[-1].strip().lower())
    if found is None or int(found[1]) == 0:
        raise ValueError(f"{texts[-1]!r} is not a size in bytes, such as 1048576 or 1MiB")
    return int(found[1]) * _UNITS[found[2]]


def store(texts: Sequence[str]) -> str:
    """`memory` or the URL of a server, told apart from what redis-py would quietly read as something else."""
    text = word(texts)
    shown = without_password(text)
    if text == "memory":
        return text
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{shown!r} is not a URL that can be read") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ValueError(f"{shown!r} is neither `memory` nor a redis://, rediss:// or unix:// URL")
    if parts.scheme == "unix":
        if not parts.path.startswith("/"):
            raise ValueError(f"{shown!r} has no path; write unix:///path/to/the.sock")
    elif port == 0 or not re.fullmatch(r"/?|/[0-9]+", parts.path):
        raise ValueError(f"{shown!r} does not end in a database number, as redis://host:6379/0 does")
    return text


def prefix(texts: Sequence[str]) -> str:
    """What keys start with: it stands inside a hash tag."""
    text = texts[-1]
    if not re.fullmatch(r"[A-Za-z0-9._:/-]{1,100}", text):
        raise ValueError(f"{text!r} is not 1 to 100 letters, digits and . _ : / -")
    return text


def reference(*names: str) -> Callable[[Sequence[str]], str]:
    """One of the names, or `module:name`."""
    known = " or ".join(f"`{name}`" for name in names)

    def parse(texts: Sequence[str]) -> str:
        text = texts[-1].strip()
        if text not in names and not re.fullmatch(
            r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", text
        ):
            raise ValueError(f"{text!r} is neither {known} nor `module:name`")
        return text

    return parse


_KINDS = ", ".join(Kind)


def kind(texts: Sequence[str]) -> str:
    """The name of a kind."""
    text = texts[-1].strip()
    if text not in set(Kind):
        raise ValueError(f"{text!r} is no kind; the kinds are {_KINDS}")
    return text


def kinds(texts: Sequence[str]) -> dict[str, str]:
    """Event names to kinds, in order: JSON, or a file of it."""
    text = texts[-1].strip()
    where = ""
    if not text.startswith(("{", "[")):
        where = f"{text}: "
        try:
            text = Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ValueError(
                f'{where}{reason}; give a file that can be read, or JSON such as {{"user.said":"flush"}}'
            ) from None
    problems: list[str] = []
    pairs = _pairs(text, where, problems)
    for name, value in pairs.items():
        if not isinstance(value, str) or value not in set(Kind):
            problems.append(
                f"{where}{name!r} has {json.dumps(value)}, which is no kind; the kinds are {_KINDS}"
            )
        if not name:
            problems.append(f"{where}a name is empty")
    if problems:
        raise ValueError("\n".join(problems))
    return pairs


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


def folder(texts: Sequence[str]) -> str:
    """A folder, whether it is there or not."""
    return os.path.abspath(os.path.expanduser(word(texts)))


def socket(texts: Sequence[str]) -> str:
    """A path that the system takes for a unix socket."""
    text = os.path.abspath(os.path.expanduser(word(texts)))
    if len(os.fsencode(text)) > SOCKET_PATH_BYTES:
        raise ValueError(f"{text!r} is longer than the {SOCKET_PATH_BYTES} bytes a socket's path may have")
    if not os.path.isdir(os.path.dirname(text)):
        raise ValueError(f"{text!r} is in a folder that does not exist")
    return text


def token(texts: Sequence[str]) -> str:
    """A token that a header can carry."""
    text = texts[-1]
    if not text:
        raise ValueError("is empty; leave it out to go without a token")
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("a token is printable ASCII without blanks, or no header could carry it")
    return text


def hosts(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of hosts, with commas between or given one by one."""
    names = [name.strip().lower() for text in texts for name in text.split(",") if name.strip()]
    wrong = [
        name for name in names if not re.fullmatch(r"[a-z0-9._-]+(:[0-9]+)?|\[[0-9a-f:]+\](:[0-9]+)?", name)
    ]
    if wrong or not names:
        raise ValueError("\n".join(f"{name!r} is not the name of a host" for name in wrong) or "is empty")
    return tuple(names)
