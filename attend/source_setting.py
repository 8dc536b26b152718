"""Sources of a deployment: which servers' events go into which scope, as flags, variables and files say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from attend.core.event import check_scope
from attend.errors import EventError
from attend.option import is_loopback, nearest

SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["event", "scope"],
        "properties": {
            "event": {"type": "string", "minLength": 1},
            "scope": {"type": "string", "minLength": 1},
            "url": {"type": "string"},
            "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "arguments": {"type": "object"},
            "mode": {"enum": ["auto", "stream", "poll"]},
            "token": {"type": "string", "minLength": 1},
            "key": {"type": "string", "minLength": 1},
            "poll_ms": {"type": "integer", "minimum": 1},
        },
    },
}


class SourceSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One subscription to another server's events, and the scope that they go into.

    The server is at a `url`, or is a `command` with its arguments, whose stdin and stdout are spoken to and which
    gets `env`. `key` is what the cursor is kept under; left out it is made from the event and its `arguments`.
    `poll_ms` is for a server that does not say how often to poll it.
    """

    event: str
    scope: str
    url: str | None = None
    command: tuple[str, ...] | None = None
    env: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    mode: Literal["auto", "stream", "poll"] = "auto"
    token: str | None = None
    key: str | None = None
    poll_ms: int = 10_000

    @property
    def place(self) -> tuple[str, str, str]:
        """What no two may share: they would keep their cursors in one place."""
        arguments = "" if self.key else msgspec.json.encode(self.arguments, order="sorted").decode()
        return self.scope, self.key or self.event, arguments


def sources(texts: Sequence[str]) -> tuple[SourceSetting, ...]:
    """Sources, each as a JSON object, or several as a list of them. Raises `ValueError`, a line a problem."""
    given: list[Any] = []
    for text in texts:
        try:
            value: Any = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise ValueError(
                f"it is not JSON: {error}; a source is such as "
                '{"url":"https://example.com/mcp","event":"repo.activity","scope":"repo"}'
            ) from None
        if isinstance(value, list):
            given += value
        else:
            given.append(value)
    found: list[SourceSetting] = []
    problems: list[str] = []
    for number, each in enumerate(given, 1):
        where = f"source {number}: " if len(given) > 1 else ""
        try:
            found.append(_source(each))
        except ValueError as error:
            problems += [f"{where}{line}" for line in str(error).splitlines()]
    for number, each in enumerate(found):
        if each.place in [other.place for other in found[:number]]:
            problems.append(
                f"the event {each.event!r} is read into scope {each.scope!r} twice; where they are of two servers, "
                "give each a key"
            )
    if problems:
        raise ValueError("\n".join(problems))
    return tuple(found)


def _source(value: Any) -> SourceSetting:
    if isinstance(value, Mapping):
        for name in cast("Mapping[str, Any]", value):
            if name not in SourceSetting.__struct_fields__:
                close = nearest(name, SourceSetting.__struct_fields__)
                hint = (
                    f"did you mean {close}?"
                    if close
                    else f"they are {', '.join(SourceSetting.__struct_fields__)}"
                )
                raise ValueError(f"{name!r} is no key of a source; {hint}")
    try:
        found = msgspec.convert(value, SourceSetting)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    problems = list(_problems(found))
    if problems:
        raise ValueError("\n".join(problems))
    return found


def _problems(source: SourceSetting) -> list[str]:
    found: list[str] = []
    if (source.url is None) == (source.command is None):
        found.append("give either the url of a server or a command")
    if source.command is not None and not (source.command and source.command[0]):
        found.append("command is empty; it is the name of a program and its arguments")
    if not source.event:
        found.append("event is empty")
    if source.poll_ms < 1:
        found.append(f"poll_ms is {source.poll_ms}, it must be 1 or more")
    try:
        check_scope(source.scope)
    except EventError as error:
        found.append(str(error))
    if source.url is not None:
        found += _address(source.url, source.token)
    elif source.token is not None:
        found.append("a command takes no token; give it what it needs in env")
    return found


def _address(url: str, token: str | None) -> list[str]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return ["url cannot be read"]
    if parts.scheme not in ("http", "https") or not host:
        return ["url is not a whole one, as https://host/mcp is"]
    if "@" in parts.netloc:
        return ["url holds a name or a password; give a token beside it instead"]
    if token is not None and parts.scheme == "http" and not is_loopback(host):
        return [f"http://{host} would send the token in the clear; use https"]
    return []
