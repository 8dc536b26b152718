"""One scope's state: what is open, held, in judgement, in the outbox and in the dead-letter lane."""

from __future__ import annotations

from msgspec import Struct

from attend.core.attempt import Attempt, Past
from attend.core.memory import Memory
from attend.core.types import Event, Reason, Recent, Stage, Window

FORMAT = 1
"""The state's format. A state of a higher one was written by a newer attend and is refused."""


class OpenWindow(Struct, frozen=True, gc=False, array_like=True):
    """The window that events join.

    The instants are acceptance times: of the first act, the first flush, and the last event of each other act
    kind; None where there is none.
    """

    events: tuple[Event, ...] = ()
    size: int = 0
    acts: int = 0
    dropped: int = 0
    gap: bool = False
    first_act_at: int | None = None
    flush_at: int | None = None
    closing_at: int | None = None
    continuous_at: int | None = None
    passive_at: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no event is in it. Its `dropped` and `gap` may still wait for the next one."""
        return not self.events


class Forced(Struct, frozen=True, gc=False, array_like=True):
    """Someone asked for a settle: `forced` for a flush, `closing` for an end."""

    reason: Reason
    at: int


class Held(Struct, frozen=True, gc=False, array_like=True):
    """A window whose verdict was `wait`, until another settles or `horizon_at` comes; `past` are its judge calls."""

    window: Window
    horizon_at: int
    past: tuple[Past, ...] = ()


class Slot(Struct, frozen=True, gc=False, array_like=True):
    """The window in judgement, one a scope, and whether `wait` is offered for it."""

    window: Window
    may_wait: bool
    attempt: Attempt


class Parcel(Struct, frozen=True, gc=False, array_like=True):
    """A decision in the outbox. The decision itself is kept by reference, its event ids are here for dedup."""

    id: str
    event_ids: tuple[str, ...]
    attempt: Attempt


class Dead(Struct, frozen=True, gc=False, array_like=True):
    """A dead letter in its lane; its window is kept by reference."""

    id: str
    window: str
    event_ids: tuple[str, ...]
    stage: Stage
    message: str
    starts: int
    at: int
    attempt: Attempt


class Again(Struct, frozen=True, gc=False, array_like=True):
    """A dead window that someone had tried again: it takes the judge slot at `due_at`, or when that is free."""

    window: Window
    due_at: int


class ScopeState(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Everything attend knows of one scope.

    `now` is the latest instant applied, `token` the last one given, `seen` the event ids it remembers, `settled` the
    last flush and end requests to their outcome, `cursors` each source's key to how far it was read, `again` dead
    windows on their way back to the judge. `generation` and `digest` name the rules it is stepped with.
    """

    scope: str
    generation: int
    digest: str
    format: int = FORMAT
    now: int = 0
    token: int = 0
    open: OpenWindow = OpenWindow()
    forced: Forced | None = None
    held: Held | None = None
    slot: Slot | None = None
    outbox: tuple[Parcel, ...] = ()
    dead: tuple[Dead, ...] = ()
    recent: tuple[Recent, ...] = ()
    seen: Memory = Memory()
    settled: dict[str, bool] = {}
    cursors: dict[str, str] = {}
    again: tuple[Again, ...] = ()


class Due(Struct, frozen=True, gc=False):
    """When each lane next has something to do for a scope; None for never, as things stand."""

    settle: int | None = None
    deliver: int | None = None
    bury: int | None = None
