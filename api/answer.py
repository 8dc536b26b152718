"""HTTP answers as JSON, straight to ASGI."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from attend.api.codes import RequestCode

_encode = msgspec.json.Encoder().encode


class Problem(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The body of an answer that turns a request away."""

    error: str
    message: str
    retry_after_ms: int | None = None


class Refused(Exception):
    """Raised to end a request with a status, a code and a message."""

    def __init__(
        self,
        status: int,
        code: RequestCode,
        message: str,
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(code, message, retry_after_ms)
        self.headers = list(headers)
        if retry_after_ms is not None:
            self.headers.append((b"retry-after", str(math.ceil(retry_after_ms / 1000)).encode()))


class GoneError(Exception):
    """The client went away while its body was being read: there is nobody to answer."""


async def answer(send: Send, status: int, body: object, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send a whole answer; `body` is anything msgspec can write."""
    content = _encode(body) + b"\n"  # Most are read in a terminal now and then.
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(content)).encode()),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": content, "more_body": False})


async def refuse(send: Send, refused: Refused) -> None:
    """Send the answer that a `Refused` stands for."""
    await answer(send, refused.status, refused.problem, refused.headers)


def only(scope: Scope, *methods: str) -> None:
    """Raise `Refused` unless the request has one of these methods."""
    method: Any = dict(scope).get("method")
    if method not in methods:
        raise Refused(
            405,
            RequestCode.METHOD_NOT_ALLOWED,
            f"{method} is not for this path",
            headers=[(b"allow", ", ".join(methods).encode())],
        )


__all__ = ["GoneError", "Problem", "Receive", "Refused", "Scope", "Send", "answer", "only", "refuse"]
