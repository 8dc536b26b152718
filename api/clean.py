"""Lines that are spelled as nearly all are: decoded by msgspec, and only looked over together, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from attend.core.event import MAX_ID_BYTES, MAX_NAME_BYTES, MAX_NESTING, MAX_SCOPE_BYTES

FIRST_AT, LAST_AT = 10**11, 10**14 - 1
"""What milliseconds look like: 1973 to 5138. Seconds of our time are below, microseconds above."""


class CleanLine(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An event whose values are surely within their limits: so many characters have no more bytes than they may."""

    scope: Annotated[str, Meta(min_length=1, max_length=MAX_SCOPE_BYTES // 4)]
    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_BYTES // 4)]
    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID_BYTES // 4)] | None = None
    at: Annotated[int, Meta(ge=FIRST_AT, le=LAST_AT)] | None = None
    data: Raw | UnsetType = UNSET
    text: str | None = None


class Clean(Struct, frozen=True):
    """Lines one after the other that are all good events, none blank: the number of the first, and each one's data."""

    first: int
    lines: Sequence[CleanLine]
    data: Sequence[bytes]


_line = msgspec.json.Decoder(CleanLine).decode
_any = msgspec.json.Decoder().decode


def read_clean(raw: bytes, first: int) -> Clean | None:
    """Every line, where each is an event that is surely clean; None where one might not be."""
    rows = raw.split(b"\n")
    if not rows[-1]:
        rows.pop()
    try:
        # Each by itself: several in one row, or one over several, would pass where they are decoded together.
        lines = [_line(row) for row in rows]
        data = [b"{}" if line.data is UNSET else bytes(line.data) for line in lines]
        for each in data:
            if len(each) > 2 * MAX_NESTING and each.count(b"[") + each.count(b"{") > MAX_NESTING:
                return None
            _any(each)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return Clean(first, lines, data) if _has_only_known_keys_once(raw, lines, data) else None


def _has_only_known_keys_once(raw: bytes, lines: Sequence[CleanLine], data: Sequence[bytes]) -> bool:
    """Whether there is a colon for each key that was read, one for each that a string holds, and no other.

    A key that is not known, or comes again, or whose value is null, brings one more.
    """
    if b"\\" in raw and (b"\\u003a" in raw or b"\\u003A" in raw):
        return False  # A colon that is spelled so could hide a key's.
    ids = len(lines) - [line.id for line in lines].count(None)
    ats = len(lines) - [line.at for line in lines].count(None)
    values = len(lines) - [line.data is UNSET for line in lines].count(True)
    texts = [line.text for line in lines if line.text is not None]
    left = raw.count(b":") - sum([each.count(b":") for each in data])
    left -= 2 * len(lines) + ids + ats + values + len(texts)
    if left and texts:
        left -= "".join(texts).count(":")
    if left:
        left -= "".join([line.scope for line in lines]).count(":") + "".join(
            [line.name for line in lines]
        ).count(":")
    if left and ids:
        left -= "".join([line.id for line in lines if line.id is not None]).count(":")
    return not left
