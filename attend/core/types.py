"""The vocabulary: events, windows, verdicts, decisions.

Instants are int milliseconds since 1970, durations end in `_ms`. Everything is frozen; a change makes a new
value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct


class Kind(StrEnum):
    """How an event bears on its window's end, frozen when the event is accepted."""

    CLOSING = "closing"
    FLUSH = "flush"
    CONTINUOUS = "continuous"
    PASSIVE = "passive"
    CONSEQUENCE = "consequence"
    CONTEXT = "context"

    @property
    def is_act(self) -> bool:
        """Whether the event can call for the agent: everything but `consequence` and `context`."""
        return self in ACTS


ACTS = frozenset({Kind.CLOSING, Kind.FLUSH, Kind.CONTINUOUS, Kind.PASSIVE})


class Route(StrEnum):
    """What the agent should do about a window."""

    INTERRUPT = "interrupt"
    QUEUE = "queue"
    NOTE = "note"
    ASK = "ask"
    SKIP = "skip"
    WAIT = "wait"

    @property
    def is_delivered(self) -> bool:
        """Whether a decision with this route is logged and reaches sinks: all but `skip` and `wait`."""
        return self in DELIVERED


DELIVERED = frozenset({Route.INTERRUPT, Route.QUEUE, Route.NOTE, Route.ASK})


class Reason(StrEnum):
    """Why a window settled."""

    CLOSING = "closing"
    FLUSH = "flush"
    CONTINUOUS = "continuous"
    PASSIVE = "passive"
    AGE = "age"
    SIZE = "size"
    OVERFLOW = "overflow"
    FORCED = "forced"
    HORIZON = "horizon"


class Lane(StrEnum):
    """A kind of due work, with slots of its own so that one never holds up another."""

    SETTLE = "settle"
    DELIVER = "deliver"
    BURY = "bury"


class Stage(StrEnum):
    """Where a dead letter was given up on."""

    JUDGE = "judge"
    SINK = "sink"


class Event(Struct, frozen=True, gc=False, array_like=True):
    """One thing that happened in a scope.

    `at` is the producer's word, kept and shown but never used for timing; `accepted_at` is when attend took it,
    and 0 until then. `data_json` is the JSON text as it came, so numbers keep their digits.
    """

    id: str
    name: str
    kind: Kind
    at: int
    data_json: bytes = b"{}"
    text: str | None = None
    accepted_at: int = 0

    @property
    def data(self) -> Any:
        """`data_json`, decoded anew at each call."""
        return msgspec.json.decode(self.data_json)

    @property
    def size(self) -> int:
        """The bytes this event is reckoned at in a window's size: its content and what surrounds it."""
        return size_of((self,))


def size_of(events: Iterable[Event]) -> int:
    """The bytes that events are reckoned at together."""
    size = 0
    for event in events:
        text = event.text
        size += 64 + len(event.id) + len(event.name) + len(event.data_json)
        if text:
            # Asked for twice in an event's life, and most text is ASCII.
            size += len(text) if text.isascii() else len(text.encode())
    return size


class Window(Struct, frozen=True, gc=False):
    """A settled window: what a judge reads and a decision carries.

    `dropped` counts the non-acts that were shed from it, `gap` says that a source lost events on the way in,
    `waits` how often it was held before, `size` its bytes as reckoned.
    """

    scope: str
    events: tuple[Event, ...]
    reason: Reason
    settled_at: int
    size: int = 0
    dropped: int = 0
    gap: bool = False
    waits: int = 0

    @property
    def id(self) -> str:
        """The id a decision about this window has."""
        return window_id(self.scope, (event.id for event in self.events))

    @property
    def event_ids(self) -> tuple[str, ...]:
        """The ids of its events, in the order they were accepted."""
        return tuple(event.id for event in self.events)


class Recent(Struct, frozen=True, gc=False, array_like=True):
    """A verdict of late in this scope, as the next judge call sees it."""

    at: int
    route: Route
    reason: Reason
    events: int
    window: str


class Judgment(Struct, frozen=True):
    """What a judge says of a window.

    `route` must be one of those offered. `probabilities` maps routes, `predicates` the questions asked, each to
    0..1; `confidence` is the judge's own measure of the route, kept apart from them.
    """

    route: str
    probabilities: dict[str, float] | None = None
    confidence: float | None = None
    predicates: dict[str, float] | None = None
    judge: str | None = None


class Summary(Struct, frozen=True, kw_only=True):
    """A decision without its window: one row of the log.

    `starts` is how many judge calls it took, `changed_from` the judge's own route where the act threshold
    changed it, `notice` the text an agent is given. `degraded` says that the judge was down and the window was
    decided by rule.
    """

    id: str
    scope: str
    route: Route
    reason: Reason
    decided_at: int
    notice: str
    event_ids: tuple[str, ...]
    dropped: int = 0
    gap: bool = False
    waits: int = 0
    starts: int = 1
    confidence: float | None = None
    probabilities: dict[str, float] | None = None
    predicates: dict[str, float] | None = None
    changed_from: Route | None = None
    judge: str | None = None
    degraded: bool = False


class Decision(Summary, frozen=True, kw_only=True):
    """What the agent should do about one window, as a sink receives it."""

    window: Window

    def summary(self) -> Summary:
        """The decision as a row of the log: without its window, its notice cut at 16 KiB."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in Summary.__struct_fields__}
        fields["notice"] = cut(self.notice, NOTICE_BYTES)
        return Summary(**fields)


NOTICE_BYTES = 16 * 1024
"""How much of a notice a log row carries; the stored window has it all."""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A window that no judge or sink could take, with the stage that gave up and its last message."""

    id: str
    scope: str
    stage: Stage
    message: str
    starts: int
    at: int
    window: Window
    decision: Decision | None = None


def cut(text: str, size: int) -> str:
    """The text, or as much of it as `size` bytes of UTF-8 hold, with a last line that says it was cut."""
    data = text.encode()
    if len(data) <= size:
        return text
    mark = f"\n[cut: {len(data)} bytes in all, attend_window has the rest]"
    return data[: size - len(mark)].decode(errors="ignore") + mark


def window_id(scope: str, event_ids: Any) -> str:
    """The id of a decision: the first 128 bits, in hex, of SHA-256 over the JSON array `[scope, id, id, ...]`.

    The array is compact UTF-8 JSON, so anyone can recompute it, and no two scopes share one.
    """
    return hashlib.sha256(msgspec.json.encode([scope, *event_ids])).hexdigest()[:32]


def letter_id(window: str) -> str:
    """The id of the dead letter about a window: the window's own, marked."""
    return f"dead-{window}"
