"""`attend watch`: one short line a decision, for a monitor that reads lines and is told by each.

A line is made of a route, numbers, ids, and a scope made plain. Where decisions come faster than the monitor may be
woken, a line says how many more there were.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from attend.cli.flags import read
from attend.cli.hears import WATCH
from attend.cli.remote import client_of
from attend.cli.screen import complain
from attend.client import Client, Occurrence
from attend.core.plain import plain
from attend.core.types import Reason, Route
from attend.errors import AnswerError

PER_MINUTE = 20
MINUTE, PAUSE = 60.0, 5.0
"""Seconds that a cap holds for, and until it is told what was too much where there is room to say so."""


def run_watch(given: Mapping[str, Sequence[str]]) -> int:
    """Write lines until stopped, and return the exit code: 0, or 2 where the server turned it down."""
    values, _ = read(WATCH, given, {})
    try:
        return asyncio.run(_watch(client_of(given, os.environ), values))
    except KeyboardInterrupt:
        return 0


async def _watch(client: Client, values: Mapping[str, Any]) -> int:
    decisions = client.decisions(
        None,
        scope=values.get("scope"),
        scope_prefix=values.get("scope_prefix"),
        routes=values.get("route"),
        min_confidence=values.get("min_confidence"),
        wait=True,
        say=complain,
    )
    cap = Cap(_write, values.get("per_minute", PER_MINUTE))
    try:
        async with client, aclosing(aiter(decisions)) as found:
            async for occurrence in found:
                cap.take(line_of(occurrence))
    except AnswerError as error:
        complain(f"the server turned it down: {error}")
        return 2
    finally:
        cap.close()
    return 0


def line_of(occurrence: Occurrence) -> str:
    """A decision on one line. Nothing in it but the scope was written by others, and that is made plain."""
    data = occurrence.data
    route, reason, count = data.get("route"), data.get("reason"), data.get("eventCount")
    said = [
        str(route) if route in set(Route) else "decision",
        f"[{plain(str(data['scope']))}]" if data.get("scope") else "[scope not shown]",
        f"{count} {'event' if count == 1 else 'events'}" if isinstance(count, int) else "",
        str(reason) if reason in set(Reason) else "",
        f"(decision {plain(occurrence.event_id)})",
    ]
    return " ".join(filter(None, said))


class Cap:
    """Lets so many lines through in any minute; the rest are counted, and told of when there is room again."""

    def __init__(
        self,
        write: Callable[[str], object],
        per_minute: int,
        *,
        minute: float = MINUTE,
        pause: float = PAUSE,
    ) -> None:
        self._write = write
        self._minute = minute
        self._pause = pause
        self._most = per_minute
        self._written: deque[float] = deque()
        self._over = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, line: str) -> None:
        """A line, written now or counted."""
        # The last of a minute is kept for saying how many more there were.
        if self._over or self._room() <= (1 if self._most > 1 else 0):
            self._over += 1
            self._later()
        else:
            self._put(line)

    def close(self) -> None:
        """Write nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _room(self) -> int:
        now = asyncio.get_running_loop().time()
        while self._written and now - self._written[0] >= self._minute:
            self._written.popleft()
        return self._most - len(self._written)

    def _put(self, line: str) -> None:
        self._written.append(asyncio.get_running_loop().time())
        self._write(line)

    def _later(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            free = self._room() > 0
            at = loop.time() + self._pause if free else self._written[0] + self._minute
            self._timer = loop.call_at(at, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._room() <= 0:
            self._later()
            return
        over, self._over = self._over, 0
        more = "decision" if over == 1 else "decisions"
        self._put(f"{over} more {more} meanwhile; attend tail --since 5m shows them")


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
