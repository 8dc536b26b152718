"""A file of recorded events, put in the order in which a replay has them accepted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from attend.api.ndjson import Command, Line, Rejection, read
from attend.core.event import NewEvent
from attend.errors import ConfigError

DAY_MS = 86_400_000


class Moment(Struct, frozen=True):
    """What is accepted at one instant, in order: each scope with its events, or a flush or an end of it."""

    at: int
    pushes: tuple[tuple[str, tuple[NewEvent, ...] | Command], ...]


class Recording(Struct, frozen=True):
    """A file's lines by instant, earliest first.

    `rejected` are lines that could not be read, `reordered` counts those that stood after a later one in the file.
    `ids` has each scope's event ids.
    """

    moments: tuple[Moment, ...]
    events: int
    scopes: int
    reordered: int
    rejected: tuple[Rejection, ...]
    ids: frozenset[tuple[str, str]]

    @property
    def began_at(self) -> int:
        """The first instant."""
        return self.moments[0].at

    @property
    def ended_at(self) -> int:
        """The last instant."""
        return self.moments[-1].at

    @property
    def duration_ms(self) -> int:
        """From the first line to the last; one millisecond at least."""
        return max(1, self.ended_at - self.began_at)


def load(path: str) -> Recording:
    """Read a file of lines as `POST /v1/ingest` takes them; `-` is stdin.

    An event's `at` is when it is accepted. Lines are put in order of it, those of one instant staying as they
    stand; a flush, an end, or an event without `at` comes at the instant of the line before it. An event without an
    id is known by its line. Raises `ConfigError` where there is nothing to replay.
    """
    try:
        body = sys.stdin.buffer.read() if path == "-" else Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give a file that can be read") from None
    return recording_of(body, path)


def recording_of(body: bytes, name: str = "the recording") -> Recording:
    """A recording from the bytes of a file. Raises `ConfigError` where there is nothing in it to replay."""
    good: list[Line] = []
    rejected: list[Rejection] = []
    for line in read(body, max_line=len(body) + 1):
        if isinstance(line, Line):
            good.append(line)
        else:
            rejected.append(line)
    first = next((line.item.at for line in good if isinstance(line.item, NewEvent) and line.item.at), None)
    if first is None:
        why = f"; line {rejected[0].line}: {rejected[0].message}" if rejected else ""
        raise ConfigError(f"{name}: no line of it is an event with an `at`{why}")
    timed = list(_timed(good, first))
    reordered = sum(later[0] < earlier[0] for earlier, later in pairwise(timed))
    timed.sort(key=_instant)
    events = [(line.scope, line.item.id or "") for _, line in timed if isinstance(line.item, NewEvent)]
    return Recording(
        moments=tuple(
            Moment(at, tuple(_pushes(line for _, line in lines))) for at, lines in groupby(timed, _instant)
        ),
        events=len(events),
        scopes=len({line.scope for _, line in timed}),
        reordered=reordered,
        rejected=tuple(rejected),
        ids=frozenset(events),
    )


def _instant(timed: tuple[int, Line]) -> int:
    return timed[0]


def _timed(lines: list[Line], at: int) -> Iterator[tuple[int, Line]]:
    for line in lines:
        item = line.item
        if isinstance(item, NewEvent):
            at = item.at if item.at is not None else at
            item = replace(item, id=item.id or f"line-{line.number}", at=at)
        else:
            item = replace(item, id=item.id or f"line-{line.number}")
        yield at, replace(line, item=item)


def _pushes(lines: Iterator[Line]) -> Iterator[tuple[str, tuple[NewEvent, ...] | Command]]:
    """Events of one scope that stand together are one push, as in a body."""
    scope, events = "", list[NewEvent]()
    for line in lines:
        if events and (line.scope != scope or isinstance(line.item, Command)):
            yield scope, tuple(events)
            events = []
        scope = line.scope
        if isinstance(line.item, Command):
            yield scope, line.item
        else:
            events.append(line.item)
    if events:
        yield scope, tuple(events)
