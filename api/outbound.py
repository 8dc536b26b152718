"""What an ingest stream is answered, frame by frame."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import msgspec
from msgspec import Struct

from attend.api.answer import GoneError, Send
from attend.api.codes import StreamCode
from attend.api.intake import Conflict
from attend.api.ndjson import Rejection

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class Ack(Struct):
    """What became of the lines up to `ack`, since the frame before: all of them have committed or are rejected."""

    ack: int
    accepted: int
    duplicates: int
    rejected: list[Rejection]
    conflicts: list[Conflict] | msgspec.UnsetType
    credits: int


class Credits(Struct):
    """How many lines more may be sent; 0 where all there is to say is that the stream lives."""

    credits: int


class End(Struct, frozen=True, kw_only=True, rename="camel"):
    """The stream ends here. `ack` is the last line that was acknowledged: what came after it is not known."""

    error: StreamCode
    message: str
    retry_after_ms: int
    ack: int


class Out:
    """The answer, frame by frame. A client that does not read is waited for, `patience_ms` at most."""

    def __init__(self, send: Send, patience_ms: int) -> None:
        self._send = send
        self._patience = patience_ms / 1000
        self._now = asyncio.get_running_loop().time
        self._sent_at = self._now()
        self.until: float | None = None

    @property
    def silence(self) -> float:
        """Seconds since the last frame."""
        return self._now() - self._sent_at

    async def start(self, credits: int) -> None:
        """The head, and how many lines may be sent."""
        headers = [
            (b"content-type", b"application/x-ndjson"),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        await self._within(self._send({"type": "http.response.start", "status": 200, "headers": headers}))
        await self.frame(Credits(credits))

    async def frame(self, frame: Struct) -> None:
        """One line. Raises `GoneError` where it cannot be got rid of."""
        body = _encode(frame) + b"\n"
        await self._within(self._send({"type": "http.response.body", "body": body, "more_body": True}))
        self._sent_at = self._now()

    async def finish(self) -> None:
        """The end of the answer."""
        await self._within(self._send({"type": "http.response.body", "body": b"", "more_body": False}))

    async def _within(self, work: Awaitable[T]) -> T:
        last = self._now() + self._patience
        try:
            async with asyncio.timeout_at(last if self.until is None else max(self.until, self._now() + 0.1)):
                return await work
        except TimeoutError:
            raise GoneError from None
