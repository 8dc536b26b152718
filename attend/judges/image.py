"""Pictures for a judge: what they are, what they cost, and which of them a judge takes."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from attend.judges.base import JudgeImage

MIB = 1024 * 1024
MIN_SIDE, MAX_SIDE = 280, 1568
MAX_IMAGE_BYTES = 16 * MIB
MAX_CALL_BYTES = 31 * MIB
"""What the pictures of one System One call may come to in base64; the whole call may have 32 MiB."""

MAX_IMAGES = 128
"""How many pictures one Decisions call may carry."""

TOKENS_PER_IMAGE = 1500
"""What a picture is reckoned at where the provider names no price."""


class ImageProblem(Struct, frozen=True):
    """A picture that was not sent: its place among those captured, and why."""

    index: int
    reason: str


OnImageError = Callable[[ImageProblem], None]


class Picture(Struct, frozen=True):
    """A picture as it is sent: `ref` names it by its content, `tokens` is what it is reckoned at."""

    ref: str
    format: str
    mime_type: str
    data: str
    tokens: int


def picture(image: JudgeImage, *, bounded: bool) -> Picture:
    """The picture in an image. Raises `ValueError` with the reason where it cannot be sent.

    With `bounded` it must be a PNG or JPEG within the sizes that System One takes; its content says so, not its
    MIME type.
    """
    try:
        content = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its data is not base64") from None
    ref = f"img-{hashlib.sha256(content).hexdigest()[:32]}"
    if not bounded:
        kind, slash, subtype = image.mime_type.partition("/")
        if kind != "image" or not slash or not subtype.replace("+", "").replace("-", "").isalnum():
            raise ValueError("its MIME type is not that of an image")
        return Picture(ref, subtype, image.mime_type, image.data, TOKENS_PER_IMAGE)
    if len(content) > MAX_IMAGE_BYTES:
        raise ValueError(f"it has {len(content)} bytes, {MAX_IMAGE_BYTES} are taken")
    size = dimensions(content)
    if size is None:
        raise ValueError("it is neither a PNG nor a JPEG")
    format, width, height = size
    if not all(MIN_SIDE <= side <= MAX_SIDE for side in (width, height)):
        raise ValueError(f"it is {width} x {height}, sides of {MIN_SIDE} to {MAX_SIDE} pixels are taken")
    tokens = 2 * -(-width // 28) * -(-height // 28)
    return Picture(ref, format, f"image/{'jpeg' if format == 'jpg' else format}", image.data, tokens)


def pictures(
    images: Sequence[JudgeImage],
    on_error: OnImageError | None,
    *,
    bounded: bool,
    most: int | None = None,
    most_bytes: int | None = None,
) -> tuple[Picture, ...]:
    """The pictures to send: those that can be, each once, the first `most`, and within `most_bytes` of base64.

    The rest are told to `on_error`, whose own errors are ignored.
    """
    found: dict[str, Picture] = {}
    total = 0
    for index, image in enumerate(images):
        try:
            each = picture(image, bounded=bounded)
            if each.ref in found:
                continue
            if most is not None and len(found) >= most:
                raise ValueError(f"{most} pictures are taken in one call")
            if most_bytes is not None and total + len(each.data) > most_bytes:
                raise ValueError(f"with it the call's pictures would be over {most_bytes} bytes")
        except ValueError as error:
            if on_error is not None:
                with suppress(Exception):
                    on_error(ImageProblem(index, str(error)))
            continue
        found[each.ref] = each
        total += len(each.data)
    return tuple(found.values())


def dimensions(content: bytes) -> tuple[Literal["png", "jpg"], int, int] | None:
    """What a PNG or JPEG says of itself: its format, width and height in pixels; None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR" and len(content) >= 24:
        return "png", int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if content.startswith(b"\xff\xd8"):
        for marker, start in _segments(content):
            # The frame headers; C4, C8 and CC in their midst are tables.
            if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and start + 7 <= len(content):
                height = int.from_bytes(content[start + 3 : start + 5])
                return "jpg", int.from_bytes(content[start + 5 : start + 7]), height
    return None


def _segments(content: bytes) -> Iterator[tuple[int, int]]:
    """Each marker of a JPEG up to its scan, with where its segment starts: at the length."""
    at = 2
    while at + 4 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker == 0xDA:
            return
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            yield marker, at + 2
            at += 2 + max(2, int.from_bytes(content[at + 2 : at + 4]))
