"""Signing what is sent to a webhook, as Standard Webhooks does: a receiver can tell who sent it, and that it is fresh."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

MARK = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64


def read_secrets(text: str) -> tuple[bytes, ...]:
    """The keys in one or more secrets with blanks between: while a secret is replaced, both sign.

    A secret is `whsec_` and the base64 of 24 to 64 bytes. Raises `ValueError`, which repeats nothing of it.
    """
    keys: list[bytes] = []
    for each in text.split():
        try:
            key = base64.b64decode(each.removeprefix(MARK), validate=True) if each.startswith(MARK) else b""
        except (binascii.Error, ValueError):
            key = b""
        if not LEAST_BYTES <= len(key) <= MOST_BYTES:
            raise ValueError(
                f"a secret is {MARK} and the base64 of {LEAST_BYTES} to {MOST_BYTES} random bytes; make one with: "
                f"python3 -c \"import base64, os; print('{MARK}' + base64.b64encode(os.urandom(32)).decode())\""
            )
        keys.append(key)
    if not keys:
        raise ValueError("is empty; leave it out to send without a signature")
    return tuple(keys)


def secrets(texts: Sequence[str]) -> str:
    """A setting's text, if it is one or more secrets. Raises `ValueError`, which repeats nothing of it."""
    text = " ".join(texts[-1].split())
    read_secrets(text)
    return text


def signed(keys: Sequence[bytes], id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` of a body: one `v1,<base64>` for each key. `timestamp` is in seconds."""
    content = f"{id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, content, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)
