"""Request bodies, read within their limits: size, what gzip expands to, time, and what is in hand at once."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from attend.api.answer import GoneError, Receive, Refused, Scope
from attend.api.codes import RequestCode

_STEP = 1024 * 1024
"""What gzip may expand to before other requests get a turn."""
_DRAIN_MS = 3000
_DRAIN_BYTES = 1024 * 1024
"""What is read on of a refused body, or twice the limit where that is more."""


class Flight:
    """What is being taken in at once by this process: requests, and bytes of their bodies."""

    def __init__(self, max_bytes: int, max_requests: int) -> None:
        self.max_bytes = max_bytes
        self.max_requests = max_requests
        self.bytes = 0
        self.requests = 0
        self.freed = asyncio.Event()
        """Set once bytes are let go of, where there were too many; then another takes its place."""
        self.first: Ticket | None = None
        """Who may go on where there are too many, so that not all wait for each other to end their lines."""

    @contextmanager
    def board(self) -> Generator[Ticket]:
        """A request's place. Raises `Refused` (429) where there is none."""
        if self.requests >= self.max_requests:
            raise busy(f"{self.requests} requests are being taken in")
        self.requests += 1
        try:
            with self.alongside() as ticket:
                yield ticket
        finally:
            self.requests -= 1

    @contextmanager
    def alongside(self) -> Generator[Ticket]:
        """A stream's place: it counts by the bytes it holds, and not as a request, since it may be open for days."""
        ticket = Ticket(self)
        try:
            yield ticket
        finally:
            ticket.let_go(ticket.bytes)


class Ticket:
    """What one request holds of a `Flight`."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self.bytes = 0

    def hold(self, size: int) -> None:
        """Count bytes in. Raises `Refused` (429) when there are too many, unless this request is alone."""
        self.count(size)
        if self._too_many:
            raise busy(f"{self._flight.bytes} bytes are being taken in")

    def count(self, size: int) -> None:
        """Count bytes in, however many there are."""
        self._flight.bytes += size
        self.bytes += size

    def let_go(self, size: int) -> None:
        """Count bytes out."""
        flight = self._flight
        was_full = flight.bytes > flight.max_bytes
        flight.bytes -= size
        self.bytes -= size
        if flight.first is self:
            flight.first = None
        if was_full:
            freed, flight.freed = flight.freed, asyncio.Event()
            freed.set()

    async def room(self) -> None:
        """Wait until there are not too many bytes, or it is this one's turn to go on all the same."""
        while self._too_many and self._flight.first not in (None, self):
            await self._flight.freed.wait()
        if self._too_many:
            self._flight.first = self

    @property
    def _too_many(self) -> bool:
        return self._flight.bytes > self._flight.max_bytes and self._flight.bytes > self.bytes


def busy(what: str) -> Refused:
    """The refusal of one too many."""
    return Refused(429, RequestCode.BUSY, f"{what}, which is the most; try again", retry_after_ms=1000)


async def read_body(
    scope: Scope, receive: Receive, ticket: Ticket, *, max_body: int, deadline_ms: int
) -> bytes | bytearray:
    """The whole body, expanded where it is gzip.

    Raises `Refused` with 400, 408, 413, 415 or 429, `GoneError` when the client goes away. A body that is refused
    for its size is still read for a short while, and thrown away, so that its sender gets to see the answer.
    """
    headers = headers_of(scope, b"content-encoding", b"content-length")
    encoding = headers[b"content-encoding"].strip().lower()
    if encoding not in (b"", b"identity", b"gzip", b"x-gzip"):
        raise unsupported("gzip", "identity")
    chunks = Chunks(receive)
    try:
        async with asyncio.timeout(deadline_ms / 1000):
            try:
                declared = headers[b"content-length"]
                if declared.isdigit() and int(declared) > max_body:
                    raise _too_large(max_body)
                return await _read(chunks, ticket, max_body, gzip=encoding.endswith(b"gzip"))
            except Refused:
                await drain(chunks, max(_DRAIN_BYTES, 2 * max_body))
                raise
    except TimeoutError:
        raise Refused(
            408,
            RequestCode.BODY_TIMEOUT,
            f"the body did not arrive within {deadline_ms} ms, and none of it was taken; "
            "what comes line by line goes to /v1/ingest/stream, which may stay open",
            headers=[(b"connection", b"close")],
        ) from None


def headers_of(scope: Scope, *names: bytes) -> dict[bytes, bytes]:
    """These headers of a request, b"" where one is missing."""
    found = dict.fromkeys(names, b"")
    for name, value in scope["headers"]:
        if name in found:
            found[name] = value
    return found


class Chunks:
    """A body as it arrives; `more` is false once all of it has."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.more = True

    async def next(self) -> bytes:
        """The next bytes. Raises `GoneError` when the client goes away."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise GoneError
        self.more = message.get("more_body", False)
        return message.get("body", b"")


async def _read(chunks: Chunks, ticket: Ticket, max_body: int, *, gzip: bool) -> bytes | bytearray:
    first = await chunks.next()
    if not gzip and not chunks.more:
        _hold(ticket, len(first), len(first), max_body)
        return first
    body = bytearray()
    unzip = _Gunzip(ticket, max_body) if gzip else None
    chunk = first
    while True:
        if unzip is None:
            body += chunk
            _hold(ticket, len(chunk), len(body), max_body)
        else:
            await unzip.feed(chunk, body)
        if not chunks.more:
            break
        chunk = await chunks.next()
    if unzip is not None:
        unzip.end()
    return body


def _hold(ticket: Ticket, size: int, total: int, max_body: int) -> None:
    ticket.hold(size)
    if total > max_body:
        raise _too_large(max_body)


async def drain(chunks: Chunks, most: int, ms: int = _DRAIN_MS) -> None:
    """Read on and throw away, for a while, so that a client that only sends gets to see its answer."""
    try:
        async with asyncio.timeout(ms / 1000):
            while chunks.more and most > 0:
                most -= len(await chunks.next())
    except TimeoutError:
        return


class _Gunzip:
    """Expands gzip as it comes, one member or several, up to a limit.

    Every step is held at once: a small chunk can expand to a whole body, in many requests side by side.
    """

    def __init__(self, ticket: Ticket, max_body: int) -> None:
        self._ticket = ticket
        self._max = max_body
        self._member: Any = None

    async def feed(self, chunk: bytes, body: bytearray) -> None:
        left = chunk
        while left:
            if self._member is None or self._member.eof:
                self._member = zlib.decompressobj(wbits=31)
            held = len(body)
            try:
                body += self._member.decompress(left, _STEP)
            except zlib.error as error:
                raise Refused(400, RequestCode.BAD_ENCODING, f"the body is not gzip: {error}") from None
            _hold(self._ticket, len(body) - held, len(body), self._max)
            left = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if left:
                await asyncio.sleep(0)

    def end(self) -> None:
        if self._member is None or not self._member.eof:
            raise Refused(400, RequestCode.BAD_ENCODING, "the body is gzip that ends in the middle")


def unsupported(*known: str) -> Refused:
    """The refusal of an encoding that is none of these."""
    return Refused(
        415,
        RequestCode.UNSUPPORTED_ENCODING,
        f"Content-Encoding may be {' or '.join(known)} here",
        headers=[(b"accept-encoding", known[0].encode())],
    )


def _too_large(max_body: int) -> Refused:
    return Refused(
        413,
        RequestCode.BODY_TOO_LARGE,
        f"the body, or what it expands to, is over {max_body} bytes; send it in parts",
        headers=[(b"connection", b"close")],
    )
