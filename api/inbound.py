"""What comes in by an ingest stream: read as far ahead as its credits and what is in hand at once allow."""

from __future__ import annotations

import asyncio
import logging

from attend.api.answer import GoneError
from attend.api.body import Chunks, Ticket
from attend.api.codes import StreamCode
from attend.api.inbox import Inbox
from attend.api.intake import RETRY_MS
from attend.api.settings import MIB, ApiSettings

logger = logging.getLogger(__name__)

_AHEAD = MIB
"""Bytes that one stream may have in hand before it is read on, or two longest lines where that is more."""


class EndedError(Exception):
    """Raised when a stream has to end before its sender ended it."""

    def __init__(self, code: StreamCode, message: str, retry_after_ms: int = RETRY_MS) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_ms = retry_after_ms


def unavailable(why: str) -> EndedError:
    """The store cannot commit, or attend failed: which lines did commit is not known."""
    return EndedError(
        StreamCode.UNAVAILABLE,
        f"{why}; connect again, and send what was not acknowledged again: what did commit comes back as duplicates",
    )


class Inbound:
    """Reads a stream as far ahead as its credits, its own bytes and the flight's allow. `news` is set by each step."""

    def __init__(self, chunks: Chunks, ticket: Ticket, settings: ApiSettings) -> None:
        self._chunks = chunks
        self._ticket = ticket
        self._settings = settings
        self._ahead = max(_AHEAD, 2 * settings.max_line)
        self._inbox = Inbox(settings.max_line)
        self._room = asyncio.Event()
        self._taken_lines = self._taken_bytes = 0
        self.news = asyncio.Event()
        self.ended = False
        self.why: EndedError | None = None

    @property
    def lines(self) -> int:
        """Whole lines that wait."""
        return self._inbox.lines

    def take(self) -> tuple[bytearray, int]:
        """All of them, and how many; `settled` once they have committed."""
        lines, self._taken_lines = self._inbox.take()
        self._taken_bytes = len(lines)
        return lines, self._taken_lines

    def settled(self) -> None:
        """What was taken has committed: it is no longer in hand."""
        self._ticket.let_go(self._taken_bytes)
        self._taken_lines = self._taken_bytes = 0
        self._room.set()

    def end(self, why: EndedError | None) -> None:
        """Nothing more will come."""
        if not self.ended:
            self.ended, self.why = True, why
            self.news.set()

    async def read(self) -> None:
        """Read until the stream ends, or has to."""
        now = asyncio.get_running_loop().time
        begun = now()
        try:
            while self._chunks.more:
                held_at = now()
                await self._until_room()
                begun += now() - held_at
                chunk = await self._next(now() - begun)
                if not self._inbox.is_within_line or b"\n" in chunk:
                    begun = now()
                before = self._inbox.size
                self._inbox.feed(chunk)
                self._ticket.count(self._inbox.size - before)
                self.news.set()
            self._inbox.finish()
            self.end(None)
        except GoneError:
            self.end(None)  # Whole lines are taken all the same; the half one never was a line.
        except EndedError as why:
            self.end(why)
        except Exception:
            logger.exception("a stream could not be read")
            self.end(unavailable("attend failed; its log says how"))

    async def _until_room(self) -> None:
        while (
            self._inbox.lines + self._taken_lines >= self._settings.stream_credits
            or self._ticket.bytes >= self._ahead
        ):
            self._room.clear()
            await self._room.wait()
        try:
            async with asyncio.timeout(self._settings.body_deadline_ms / 1000):
                await self._ticket.room()
        except TimeoutError:
            raise EndedError(
                StreamCode.BUSY, "too many bytes are being taken in; connect again later"
            ) from None

    async def _next(self, so_far: float) -> bytes:
        """The next bytes, where a line has been under way for so many seconds."""
        within = self._inbox.is_within_line
        ms = self._settings.body_deadline_ms if within else self._settings.stream_idle_ms
        try:
            async with asyncio.timeout(ms / 1000 - (so_far if within else 0)):
                return await self._chunks.next()
        except TimeoutError:
            if within:
                message = f"a line did not end within {ms} ms; it was not taken"
                raise EndedError(StreamCode.LINE_TIMEOUT, message) from None
            message = f"no line came for {ms} ms; connect again when there is one"
            raise EndedError(StreamCode.IDLE, message, retry_after_ms=0) from None
