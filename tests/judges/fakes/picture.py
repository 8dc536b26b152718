"""Small true PNG and JPEG files of any size, and an image for a judge made of one."""

from __future__ import annotations

import base64
import struct
import zlib

from attend.judges.base import JudgeImage


def png(width: int = 280, height: int = 280) -> bytes:
    """A grey PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def jpeg(width: int = 280, height: int = 280) -> bytes:
    """The head of a JPEG: its markers up to the scan, a table between them."""
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    table = b"\xff\xc4" + struct.pack(">H", 21) + bytes(19)
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + app + table + frame + b"\xff\xda" + struct.pack(">H", 8) + bytes(6) + b"\xff\xd9"


def image(content: bytes, mime_type: str = "image/png") -> JudgeImage:
    """The content as a capture gives it."""
    return JudgeImage(base64.b64encode(content).decode(), mime_type)
