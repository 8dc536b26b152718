"""What can happen to a scope: the only ways into `step`.

Each is past tense, carries what makes it known (event ids, a command id, a token) and changes nothing when it is
applied a second time.
"""

from __future__ import annotations

from msgspec import Struct

from attend.core.account import Asked
from attend.core.rules import Rules
from attend.core.types import Event, Judgment, Lane, Window


class Pushed(Struct, frozen=True, gc=False, tag="push", omit_defaults=True):
    """Events arrived. `source` and `cursor` say how far that source has been read; `gap` that it lost some."""

    events: tuple[Event, ...]
    source: str | None = None
    cursor: str | None = None
    gap: bool = False


class Flushed(Struct, frozen=True, tag="flush"):
    """Someone asked for a verdict now; `wait` is not offered. `id` names the request, so a resend is known."""

    id: str


class Ended(Struct, frozen=True, tag="end"):
    """The producer said that the unit is over: it settles as `closing`. `id` names the request."""

    id: str


class Ticked(Struct, frozen=True, tag="tick", omit_defaults=True):
    """A lane's due instant may have come. Without `takeover` an expired lease is left alone."""

    lane: Lane
    takeover: bool = True


class Judged(Struct, frozen=True, tag="judged"):
    """A judge answered the call with this token about this window. `asked` is for the account of it."""

    window: str
    token: int
    judgment: Judgment
    asked: Asked | None = None


class Delivered(Struct, frozen=True, tag="delivered"):
    """A sink took this decision (lane `deliver`), or the handler this dead letter (lane `bury`)."""

    lane: Lane
    id: str


class Failed(Struct, frozen=True, tag="failed", omit_defaults=True):
    """A call raised or timed out. `retry_after_ms` is the least wait before the next, as the other side asked.

    `permanent` says that trying again cannot help; `down` beside it, that this is not about what was asked: a wrong
    key, a quota used up.
    """

    lane: Lane
    id: str
    token: int
    message: str
    permanent: bool = False
    retry_after_ms: int = 0
    down: bool = False


class Lost(Struct, frozen=True, tag="lost"):
    """The process that made a call was seen to die before the lease ran out."""

    lane: Lane
    id: str
    token: int


class Released(Struct, frozen=True, tag="released"):
    """A worker that stops hands its lease back: nothing is counted, the next may start at once."""

    lane: Lane
    id: str
    token: int


class DeadRetried(Struct, frozen=True, tag="dead_retried", omit_defaults=True):
    """Someone asked for a dead letter to be tried again: the one with this id that died `at` this instant.

    `window` is what was kept of it: a letter of the judge's needs it, since a state knows a dead window by its id
    alone.
    """

    id: str
    at: int
    window: Window | None = None


class DeadDropped(Struct, frozen=True, tag="dead_dropped"):
    """Someone gave up on a dead letter for good: the one with this id that died `at` this instant."""

    id: str
    at: int


class RulesChanged(Struct, frozen=True, tag="rules"):
    """A process with newer rules than the scope has seen is about to step it."""

    generation: int
    rules: Rules


Input = (
    Pushed
    | Flushed
    | Ended
    | Ticked
    | Judged
    | Delivered
    | Failed
    | Lost
    | Released
    | DeadRetried
    | DeadDropped
    | RulesChanged
)
