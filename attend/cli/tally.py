"""What became of the lines that were pushed: counted, shown while it goes on, and summed up."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from attend.cli.lines import FileLine
from attend.cli.screen import console, count, one_line
from attend.client import Conflict, IngestReply, Rejected

EVERY = 5.0
"""Seconds between lines about progress where there is no terminal."""


class Tally:
    """Counts, and writes to stderr: each bad line, and how far it is. `size` is of all files, None if not known."""

    def __init__(self, size: int | None) -> None:
        self.lines = self.accepted = self.duplicates = self.rejected = self.conflicts = self.resent = 0
        self._size = size
        self._console = console(stderr=True)
        self._began = self._told = time.monotonic()
        self._progress: Any = None
        self._task: Any = None
        self._read: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Show progress from here on."""
        if self._console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            known = (TextColumn("{task.percentage:>3.0f}%"),) if self._size is not None else ()
            self._progress = Progress(
                BarColumn(), *known, TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
                console=self._console, transient=True,
            )  # fmt: skip
            self._task = self._progress.add_task(self._now(), total=self._size)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def take(self, reply: IngestReply, lines: Sequence[FileLine], *, sent: int | None = None) -> None:
        """Add what became of some lines, which the reply numbers from 1. `sent` of them have their fate known."""
        self.lines += len(lines) if sent is None else sent
        self.accepted += reply.accepted
        self.duplicates += reply.duplicates
        self.conflicts += len(reply.conflicts)
        self.resent += reply.resent
        listed: list[Rejected | Conflict] = [*reply.rejected, *reply.conflicts]
        for each in sorted(listed, key=_line):
            line = lines[each.line - 1]
            if isinstance(each, Rejected):
                self.reject(line, each.error, each.message)
            else:
                what = f"the id {each.id!r} was taken before with other content; what came first stands"
                self._say(f"{line.place}: {what}", "yellow")
        if lines:
            self._read[lines[-1].file] = lines[-1].end
        self._show(self._now())

    def reject(self, line: FileLine, error: str, message: str) -> None:
        """Count a line that was not taken, and show it."""
        self.rejected += 1
        self._say(f"{line.place}: {error}: {message}", "red")

    def wait(self, why: str, seconds: float) -> None:
        """It waits before it sends again."""
        text = f"waiting {seconds:.1f} s: {one_line(why)}"
        if self._progress is None:
            self._tell(text)
        else:
            self._show(text)

    def summary(self) -> str:
        """All of it in one line."""
        seconds = time.monotonic() - self._began
        parts = [
            f"{self.accepted} accepted",
            count(self.duplicates, "duplicate"),
            f"{self.rejected} rejected",
        ]
        if self.conflicts:
            parts.append(f"{self.conflicts} with an id that was taken before for something else")
        rate = f"{count(round(self.lines / seconds), 'line')}/s" if seconds > 0 else ""
        text = f"{count(self.lines, 'line')} in {seconds:.1f} s ({rate}): {', '.join(parts)}"
        if self.resent and self.duplicates:
            text += f"; {self.resent} were sent twice, so some duplicates are this push's own"
        return text

    def _now(self) -> str:
        text = count(self.lines, "line")
        return f"{text}, {self.rejected} rejected" if self.rejected else text

    def _show(self, text: str) -> None:
        if self._progress is not None:
            done = sum(self._read.values())
            self._progress.update(
                self._task, description=text, completed=done if self._size is not None else None
            )
        elif time.monotonic() - self._told > EVERY:
            self._tell(text)

    def _tell(self, text: str) -> None:
        self._told = time.monotonic()
        print(f"attend: {text}", file=sys.stderr, flush=True)

    def _say(self, text: str, style: str) -> None:
        self._console.print(one_line(text), style=style)


def _line(each: Rejected | Conflict) -> int:
    return each.line
