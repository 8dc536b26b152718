"""What someone may do about a dead letter: have it tried again, or give up on it for good."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from attend.core.attempt import Attempt
from attend.core.effect import Drop
from attend.core.input import DeadDropped, DeadRetried
from attend.core.rules import Rules
from attend.core.settling import start_judge
from attend.core.state import Again, Dead, Parcel, ScopeState, Slot
from attend.core.trace import DeadLetterDropped, DeadLetterRetried
from attend.core.types import Stage, Window
from attend.core.work import Moved


class LetterOutcome(StrEnum):
    """What became of a request about a dead letter."""

    DONE = "done"
    UNKNOWN = "unknown"
    """There is no such letter in the lane: it was taken, retried or dropped before, or died again since."""
    GONE = "gone"
    """Its window is no longer stored, so no judge can be asked about it."""
    FULL = "full"
    """As much as one window may hold waits for the judge already: ask again once that is judged."""
    NO_SINK = "no_sink"
    """The scope's rules have no sink that would take the decision."""


class Lettered(Struct, frozen=True):
    """What a request about a dead letter came to."""

    outcome: LetterOutcome


def retry(state: ScopeState, retried: DeadRetried, now: int, rules: Rules) -> tuple[Moved, Lettered]:
    """The letter back where it was given up, with fresh counts.

    A decision joins the end of the outbox. A window waits for the judge slot: see `begin_again`.
    """
    dead = _find(state, retried.id, retried.at)
    if dead is None:
        return (state, ()), Lettered(LetterOutcome.UNKNOWN)
    left = replace(state, dead=tuple(other for other in state.dead if other is not dead))
    trace = DeadLetterRetried(state.scope, dead.id, dead.stage)
    if dead.stage is Stage.SINK:
        if not rules.sink:
            return (state, ()), Lettered(LetterOutcome.NO_SINK)
        parcel = Parcel(dead.window, dead.event_ids, Attempt(now))
        return (replace(left, outbox=(*left.outbox, parcel)), (trace,)), Lettered(LetterOutcome.DONE)
    window = retried.window
    if window is None or window.id != dead.window:
        return (state, ()), Lettered(LetterOutcome.GONE)
    if not _has_room(state, window, rules):
        return (state, ()), Lettered(LetterOutcome.FULL)
    after = replace(left, again=(*left.again, Again(window, now)))
    # From here on the state carries the window itself.
    return (after, (Drop(dead.window, done=False), trace)), Lettered(LetterOutcome.DONE)


def drop(state: ScopeState, dropped: DeadDropped) -> tuple[Moved, Lettered]:
    """The letter out of its lane, for good."""
    dead = _find(state, dropped.id, dropped.at)
    if dead is None:
        return (state, ()), Lettered(LetterOutcome.UNKNOWN)
    left = replace(state, dead=tuple(other for other in state.dead if other is not dead))
    effects = (Drop(dead.window, done=False), DeadLetterDropped(state.scope, dead.id))
    return (left, effects), Lettered(LetterOutcome.DONE)


def begin_again(state: ScopeState, now: int, rules: Rules) -> Moved:
    """The first window that waits for a retry goes to the judge, which is not offered `wait`: an answer was asked for.

    The one behind it is due from now on, so what settled meanwhile has its turn between them.
    """
    first, *behind = state.again
    if behind:
        behind[0] = Again(behind[0].window, max(behind[0].due_at, now))
    state = replace(state, again=tuple(behind))
    after, call = start_judge(state, Slot(first.window, False, Attempt(now)), now, rules)
    return after, (call,)


def _find(state: ScopeState, id: str, at: int) -> Dead | None:
    return next((dead for dead in state.dead if dead.id == id and dead.at == at), None)


def _has_room(state: ScopeState, window: Window, rules: Rules) -> bool:
    """They are kept in the state by value, so what waits is bounded; one always may."""
    return (
        not state.again
        or window.size + sum(each.window.size for each in state.again) <= rules.max_window_bytes
    )
