"""What the tools write: colours on a terminal, plain lines in a pipe, and no control codes that a stranger wrote."""

from __future__ import annotations

import os
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def safe(text: str) -> str:
    """Text as it may be written to a terminal: what would move the cursor, colour or turn text around is shown as �."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Safe text on one line."""
    return safe(text).replace("\n", " ").replace("\t", " ")


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: no markup, no emoji names, nothing highlighted by guess."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """What it means that nobody reads any more is for each tool to say; rich would end it with 1."""
            raise BrokenPipeError

    return Plain(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """One line about a problem, on stderr."""
    print(f"attend: {message}", file=sys.stderr, flush=True)


def count(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rate(number: float) -> str:
    """How often, for people: `0.25`, `12.3`, `7200`."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def clock(at: int) -> str:
    """An instant as the time of day here, after the date where that is not today's."""
    then = datetime.fromtimestamp(at / 1000)
    day = "" if then.date() == datetime.now().date() else f"{then:%Y-%m-%d} "
    return f"{day}{then:%H:%M:%S}.{at % 1000:03d}"


def stamp(at: int) -> str:
    """An instant in full, with the zone of this place: `2026-11-30 17:12:16.123+01:00`."""
    return datetime.fromtimestamp(at / 1000).astimezone().isoformat(" ", "milliseconds")


def span(ms: int) -> str:
    """A length of time, short: `0.4 s`, `12 s`, `3 min 20 s`, `5 h 10 min`, `3 d 4 h`."""
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    seconds = ms // 1000
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    if seconds < 86_400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86_400} d {seconds % 86_400 // 3600} h"


def until(at: int, now: int) -> str:
    """How far off an instant is."""
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def hush() -> None:
    """Nobody reads stdout any more: keep Python from complaining about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
