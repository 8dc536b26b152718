"""A place in the log as clients hold it."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from attend.store.base import Position

_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_positions = msgspec.msgpack.Decoder(tuple[str, int, str])


def encode_cursor(position: Position) -> str:
    """A position as clients hold it: opaque, short, and safe in a URL."""
    packed = msgspec.msgpack.encode((position.epoch, position.n, position.id))
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> Position | None:
    """The position in a cursor, or None where it is none of ours. Whether the log knows it is for a read to say."""
    if len(cursor) > 256:
        return None
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        epoch, n, id = _positions.decode(packed)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        return None
    if not 0 <= n < 2**63 or not _ID.fullmatch(id) or any(int(part) >= 2**64 for part in id.split("-")):
        return None
    return Position(epoch, n, id)
