"""Lines on their way out: each with an id of its own, so that it may be sent again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct


class _Known(Struct):
    id: Raw = Raw(b"")


_known = msgspec.json.Decoder(_Known)
_fields = msgspec.json.Decoder(dict[str, Raw])


def line_of(line: bytes | str | Mapping[str, Any]) -> bytes:
    """A line as bytes, without its end. Raises `ValueError` where it would be more than one."""
    if isinstance(line, Mapping):
        return msgspec.json.encode(line)
    data = line.encode(errors="surrogatepass") if isinstance(line, str) else bytes(line)
    data = data.removesuffix(b"\n")
    if b"\n" in data:
        raise ValueError("a line holds a line break; give each line by itself")
    return data


def with_id(line: bytes) -> bytes:
    """The line with an id, where it is an object that has none. Everything else in it stays as it is written."""
    try:
        known = _known.decode(line).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return line  # The server says what is wrong with it.
    if not known:
        begin = line.index(b"{") + 1
        rest = line[begin:].lstrip()
        comma = b"" if rest.startswith(b"}") else b","
        return line[:begin] + b'"id":' + _new_id() + comma + rest
    if bytes(known) == b"null":
        try:
            return msgspec.json.encode({**_fields.decode(line), "id": Raw(_new_id())})
        except msgspec.MsgspecError:
            return line
    return line


def _new_id() -> bytes:
    return f'"{secrets.token_hex(12)}"'.encode()
