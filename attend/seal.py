"""Cursors sealed: nobody reads from one how many decisions there are, or when the last was made.

A cursor is encrypted with its own keyed hash as the nonce (SIV), so it is also told from a forged one. Equal places
have equal cursors for a reader that sees every scope. For one that does not, each cursor is another, whatever place
it stands for: that the place moved past what is hidden would show otherwise.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from attend.cursor import pack, unpack
from attend.store.base import Position

_IV = 16
_BLOCK = 64
_RANDOM = 8
"""Bytes that differ each time where no two cursors may be the same; more are there to fill the block."""


class Seal:
    """Seals and opens the cursors of one log by its secret; `epoch` is the one that the secret goes with."""

    def __init__(self, secret: bytes, epoch: str) -> None:
        self.epoch = epoch
        self._mac = hashlib.sha256(b"attend cursor mac" + secret).digest()
        self._stream = hashlib.sha256(b"attend cursor stream" + secret).digest()

    def close(self, position: Position, *, unlike: bool) -> str:
        """A position as clients hold it: opaque, and safe in a URL. With `unlike` it is another one each time."""
        packed = pack(position)
        fill = -(len(packed) + 1 + _RANDOM) % _BLOCK + _RANDOM
        plain = bytes((len(packed) % 256,)) + packed + (secrets.token_bytes(fill) if unlike else bytes(fill))
        iv = self._iv(plain)
        return base64.urlsafe_b64encode(iv + self._cipher(iv, plain)).rstrip(b"=").decode()

    def open(self, cursor: str) -> Position | None:
        """The position in a cursor, or None where it is none of this log's."""
        if len(cursor) > 512:
            return None
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        iv, ciphered = sealed[:_IV], sealed[_IV:]
        plain = self._cipher(iv, ciphered)
        if not plain or not hmac.compare_digest(self._iv(plain), iv):
            return None
        return unpack(plain[1 : plain[0] + 1])

    def _iv(self, plain: bytes) -> bytes:
        return hmac.digest(self._mac, plain, "sha256")[:_IV]

    def _cipher(self, iv: bytes, text: bytes) -> bytes:
        mask = b"".join(
            hmac.digest(self._stream, iv + bytes((block,)), "sha256") for block in range(-(-len(text) // 32))
        )
        return bytes(left ^ right for left, right in zip(text, mask, strict=False))
