"""A place in a log as text. What principals hold of the decision log is sealed: see `attend.seal`."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from attend.store.base import Position

_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_positions = msgspec.msgpack.Decoder(tuple[str, int, str])


def pack(position: Position) -> bytes:
    """A position, short."""
    return msgspec.msgpack.encode((position.epoch, position.n, position.id))


def unpack(packed: bytes) -> Position | None:
    """The position, or None where it is none. Whether the log knows it is for a read to say."""
    try:
        epoch, n, id = _positions.decode(packed)
    except (ValueError, msgspec.MsgspecError):
        return None
    if not 0 <= n < 2**63 or not _ID.fullmatch(id) or any(int(part) >= 2**64 for part in id.split("-")):
        return None
    return Position(epoch, n, id)


def encode_cursor(position: Position) -> str:
    """A position as clients hold it: short, and safe in a URL. Whoever holds it may know what is in it."""
    return base64.urlsafe_b64encode(pack(position)).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> Position | None:
    """The position in a cursor, or None where it is none of ours."""
    if len(cursor) > 256:
        return None
    try:
        return unpack(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        return None
