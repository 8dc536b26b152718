"""Lines sent one by one over a request that stays open, each acknowledged once it has committed."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from attend.client.answer import LATER, Backoff, problem_of, refused, retry_after
from attend.client.body import FIRST_PAUSE, Conflict, IngestReply, Rejected
from attend.client.duplex import Duplex
from attend.client.naming import line_of, with_id
from attend.client.wire import TroubleError
from attend.errors import AnswerError, ClientError, UnreachableError

PATH = "/v1/ingest/stream"
FIRST_CREDITS = 1000
"""How many lines may wait here before a server has said how many it takes."""

_CHUNK = 64 * 1024


class _Frame(Struct, rename="camel"):
    """Any of the frames that a server answers: credits, an acknowledgement, or the end."""

    ack: int | None = None
    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejected] = []
    conflicts: list[Conflict] = []
    credits: int = 0
    error: str = ""
    message: str = ""
    retry_after_ms: int = 0


_decode = msgspec.json.Decoder(_Frame).decode


class Stream:
    """A context manager that lines are sent through; leaving it waits until all of them have their fate.

    `reply` has what became of the lines so far, numbered from 1 as they were sent; `waiting` are those not known
    of. `on_reply` is told as it comes: the part of the reply, and the numbers it is about.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        uds: str | None,
        *,
        where: str,
        patience: float,
        on_wait: Callable[[str, float], object] | None,
        on_reply: Callable[[IngestReply, Sequence[int]], object] | None,
    ) -> None:
        self._http = http
        self._uds = uds
        self._where = where
        self._patience = patience
        self._on_wait = on_wait
        self._on_reply = on_reply
        self._backoff = Backoff(FIRST_PAUSE)
        self._lines: dict[int, bytes] = {}
        self._refused_since: dict[int, float] = {}
        self._later: set[asyncio.TimerHandle] = set()
        self._fresh: deque[int] = deque()
        self._sent: deque[int] = deque()
        self._acked = self._credits = self._count = 0
        self._window = FIRST_CREDITS
        self._since = time.monotonic()
        self._changed = asyncio.Event()
        self._failed: ClientError | None = None
        self._task: asyncio.Task[None] | None = None
        self.reply = IngestReply()

    @property
    def waiting(self) -> list[int]:
        """The numbers of the lines whose fate is not known yet."""
        return list(self._lines)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="attend stream")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self.settle()
        finally:
            for timer in self._later:
                timer.cancel()
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])

    async def send(self, line: bytes | str | Mapping[str, Any]) -> int:
        """Send a line and return its number; waits while as many as the server allows are not acknowledged.

        A line without an `id` gets one, once, and is sent again under it where a connection broke; blank ones are
        passed by, as number 0. Raises `UnreachableError` where the server was away, or could not take a line, for as
        long as the patience lasts; `AnswerError` where it turned the stream down; `ValueError` where the line would
        be more than one.
        """
        data = line_of(line)
        if not data.strip(b" \t\r\n"):
            return 0
        while len(self._lines) >= self._window:
            await self._change()
        self._raise()
        if not self._lines:
            self._since = time.monotonic()
        self._count += 1
        self._lines[self._count] = with_id(data)
        self._fresh.append(self._count)
        self._wake()
        return self._count

    async def settle(self) -> IngestReply:
        """Wait until every line has its fate. Raises as `send` does."""
        while self._lines:
            await self._change()
        self._raise()
        return self.reply

    async def _change(self) -> None:
        self._raise()
        await self._changed.wait()

    def _raise(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _run(self) -> None:
        try:
            while True:
                while not self._fresh:
                    await self._changed.wait()
                try:
                    await self._talk()
                except TroubleError as trouble:
                    await self._pause(trouble)
        except ClientError as error:
            self._failed = error
        except Exception as error:  # noqa: BLE001 - whoever sends must hear of it
            self._failed = AnswerError(200, "", f"it answered what no attend answers: {error}")
        self._wake()

    async def _pause(self, trouble: TroubleError) -> None:
        # Those that were under way go first again, in their order.
        self.reply.resent += len(self._sent)
        self._fresh.extendleft(reversed(self._sent))
        moved, idle = self._acked > 0, not self._fresh
        self._sent.clear()
        if idle:
            return
        wait = trouble.wait
        if not wait:
            wait = 0.0 if wait is not None and moved else self._backoff.pause()
        if time.monotonic() + wait - self._since > self._patience:
            raise UnreachableError(f"{trouble}; gave up, with nothing taken for about {self._patience:g} s")
        if self._on_wait is not None and wait:
            self._on_wait(str(trouble), wait)
        await asyncio.sleep(wait)

    async def _talk(self) -> None:
        """One connection, until it ends. Raises `TroubleError` and `AnswerError`."""
        self._acked = self._credits = 0
        duplex = await Duplex.post(self._http, self._uds, PATH, self._where)
        pumping = asyncio.create_task(self._pump(duplex))
        try:
            answer = await duplex.answer()
            if answer.status_code in LATER:
                problem = problem_of(answer)
                raise TroubleError(
                    f"{answer.status_code} {problem.error}: {problem.message}", retry_after(answer, problem)
                )
            if answer.status_code != 200:
                raise refused(answer)
            async for line in duplex.lines():
                if line.strip():
                    self._take(_decode(line))
            raise TroubleError("the server ended the stream")
        finally:
            pumping.cancel()
            await asyncio.wait([pumping])
            await duplex.close()

    async def _pump(self, duplex: Duplex) -> None:
        """Send what waits, as far as credits go."""
        try:
            while True:
                chunk = bytearray()
                while self._fresh and self._credits > 0 and len(chunk) < _CHUNK:
                    number = self._fresh.popleft()
                    self._sent.append(number)
                    self._credits -= 1
                    chunk += self._lines[number] + b"\n"
                if chunk:
                    await duplex.send(bytes(chunk))
                else:
                    await self._changed.wait()
        except TroubleError:
            return  # The side that reads hears of it too, and of more.

    def _take(self, frame: _Frame) -> None:
        if frame.error:
            raise TroubleError(f"{frame.error}: {frame.message}", frame.retry_after_ms / 1000)
        self._credits += frame.credits
        if frame.ack is not None:
            self._settle(frame, frame.ack)
        elif frame.credits:
            self._window = frame.credits  # All that it ever allows at once.
        self._wake()

    def _settle(self, frame: _Frame, ack: int) -> None:
        first = self._acked + 1
        numbers = [self._sent.popleft() for _ in range(ack - self._acked)]
        self._acked = ack
        self._since = time.monotonic()
        self._backoff.reset()
        part = IngestReply(
            frame.accepted,
            frame.duplicates,
            [replace(each, line=numbers[each.line - first]) for each in frame.rejected],
            [replace(each, line=numbers[each.line - first]) for each in frame.conflicts],
        )
        again = {each.line for each in part.rejected if self._is_for_later(each)}
        part.rejected = [each for each in part.rejected if each.line not in again]
        settled = [number for number in numbers if number not in again]
        for number in settled:
            del self._lines[number]
            self._refused_since.pop(number, None)
        self.reply.accepted += part.accepted
        self.reply.duplicates += part.duplicates
        self.reply.rejected += part.rejected
        self.reply.conflicts += part.conflicts
        if self._on_reply is not None:
            self._on_reply(part, settled)

    def _is_for_later(self, rejected: Rejected) -> bool:
        """Whether the line is sent again, after as long as the server asked: then it is put on its way."""
        if rejected.retry_after_ms is None:
            return False
        since = self._refused_since.setdefault(rejected.line, time.monotonic())
        wait = rejected.retry_after_ms / 1000
        if time.monotonic() + wait - since > self._patience:
            return False
        if self._on_wait is not None:
            self._on_wait(f"{rejected.error}: {rejected.message}", wait)

        def again() -> None:
            self._later.discard(timer)
            self._fresh.append(rejected.line)
            self._wake()

        timer = asyncio.get_running_loop().call_later(wait, again)
        self._later.add(timer)
        return True
