"""One body of lines, sent until every line of it was taken or turned down."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from attend.client.answer import LATER, Backoff, problem_of, refused, retry_after, trouble_of
from attend.client.naming import line_of, with_id
from attend.errors import AnswerError, UnreachableError

FIRST_PAUSE = 0.25
"""Seconds before the first new try where the server asked for no time."""


class Rejected(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A line that was not taken: its number from 1, a code from the documented list, and what is wrong."""

    line: int
    error: str
    message: str
    scope: str | None = None
    retry_after_ms: int | None = None


class Conflict(Struct, frozen=True):
    """A line whose id was taken before with other content: what came first stands."""

    line: int
    scope: str
    id: str


class IngestReply(Struct):
    """What became of lines.

    `resent` counts those that were sent again after an answer that was lost or claimed nothing: what had committed
    before is among the `duplicates`.
    """

    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejected] = []
    conflicts: list[Conflict] = []
    resent: int = 0


class Body:
    """Lines to send. `reply` has what became of them so far, also when `send` raised."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        lines: Iterable[bytes | str | Mapping[str, Any]],
        *,
        where: str,
        patience: float,
        on_wait: Callable[[str, float], object] | None = None,
    ) -> None:
        self._http = http
        self._where = where
        self._patience = patience
        self._on_wait = on_wait
        self._backoff = Backoff(FIRST_PAUSE)
        numbered = ((number, line_of(line)) for number, line in enumerate(lines, 1))
        self._waiting = [(number, with_id(line)) for number, line in numbered if line.strip(b" \t\r\n")]
        self._most = len(self._waiting)
        self._again: list[Rejected] = []
        self.reply = IngestReply()

    @property
    def waiting(self) -> list[int]:
        """The numbers of the lines whose fate is not known yet."""
        return [number for number, _ in self._waiting]

    async def send(self) -> IngestReply:
        """Send until nothing waits.

        A line that the server could not take for as long as the patience lasts is among the rejected. Raises
        `UnreachableError` where the server itself was away that long, and `AnswerError` where it turned the whole
        body down for good.
        """
        since = time.monotonic()
        while self._waiting:
            before = len(self._waiting)
            why, wait = await self._try()
            if len(self._waiting) < before:
                since = time.monotonic()
                self._backoff.reset()
            if why is None:
                continue
            wait = self._backoff.pause() if wait is None else wait * random.uniform(1, 1.25)
            if time.monotonic() + wait - since > self._patience:
                self._give_up(why)
                since = time.monotonic()
                continue
            if self._on_wait is not None:
                self._on_wait(why, wait)
            await asyncio.sleep(wait)
        self.reply.rejected.sort(key=_line)
        self.reply.conflicts.sort(key=_line)
        return self.reply

    async def _try(self) -> tuple[str | None, float | None]:
        """Send once. Why to wait before the next time, and how many seconds where the server said."""
        now, self._again = self._waiting[: self._most], []
        try:
            answer = await self._http.post(
                "/v1/ingest",
                content=b"\n".join(line for _, line in now),
                headers={"content-type": "application/x-ndjson"},
            )
        except httpx.TransportError as error:
            self.reply.resent += len(now)
            return trouble_of(error, self._where), None
        if answer.status_code == 200:
            return self._take(answer, now)
        if answer.status_code in (408, 413) and len(now) > 1:
            self._most = len(now) // 2
            return None, None
        if answer.status_code == 413:
            problem = problem_of(answer)
            self.reply.rejected.append(Rejected(now[0][0], problem.error, problem.message))
            self._waiting = self._waiting[1:]
            return None, None
        if answer.status_code in LATER:
            problem = problem_of(answer)
            if answer.status_code == 429 and problem.error == "outbox_full":
                self._again = [Rejected(number, problem.error, problem.message) for number, _ in now]
            else:
                self.reply.resent += len(now) if answer.status_code != 429 else 0
            return f"{answer.status_code} {problem.error}: {problem.message}", retry_after(answer, problem)
        raise refused(answer)

    def _take(self, answer: httpx.Response, now: list[tuple[int, bytes]]) -> tuple[str | None, float | None]:
        try:
            said = msgspec.json.decode(answer.content, type=IngestReply)
            numbers = [number for number, _ in now]
            rejected = [msgspec.structs.replace(each, line=numbers[each.line - 1]) for each in said.rejected]
            conflicts = [
                msgspec.structs.replace(each, line=numbers[each.line - 1]) for each in said.conflicts
            ]
        except (msgspec.MsgspecError, IndexError) as error:
            raise AnswerError(200, "", f"it answered what no attend answers: {error}") from error
        self._again = [each for each in rejected if each.retry_after_ms is not None]
        lines = dict(now)
        self._waiting = [(each.line, lines[each.line]) for each in self._again] + self._waiting[len(now) :]
        self.reply.accepted += said.accepted
        self.reply.duplicates += said.duplicates
        self.reply.rejected += [each for each in rejected if each.retry_after_ms is None]
        self.reply.conflicts += conflicts
        if not self._again:
            return None, None
        first = self._again[0]
        return f"{first.error}: {first.message}", max(each.retry_after_ms or 0 for each in self._again) / 1000

    def _give_up(self, why: str) -> None:
        if not self._again:
            raise UnreachableError(f"{why}; gave up, with nothing taken for about {self._patience:g} s")
        given_up = {each.line for each in self._again}
        self.reply.rejected += self._again
        self._waiting = [each for each in self._waiting if each[0] not in given_up]


def _line(each: Rejected | Conflict) -> int:
    return each.line
