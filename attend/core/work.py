"""What the three lanes have in common: one piece of work a scope, tried under leases until it ends or is given up.

The settle lane's is the window in the judge slot, the deliver lane's the head of the outbox, the bury lane's the
oldest dead letter.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from attend.core.attempt import LOSSES_UNTIL_DEAD, Attempt, End, Past, loss_backoff
from attend.core.effect import Effect, Keep
from attend.core.rules import Rules
from attend.core.state import Dead, ScopeState, Slot
from attend.core.trace import CallRetried, DeadLettered
from attend.core.types import Lane, Stage, letter_id

Moved = tuple[ScopeState, tuple[Effect, ...]]

_CALLS = {Lane.SETTLE: "judge call", Lane.DELIVER: "delivery", Lane.BURY: "burial"}


class Work(Struct, frozen=True):
    """A lane's piece of work: the id its calls come back with, and how often it was tried."""

    id: str
    attempt: Attempt


def work_of(state: ScopeState, lane: Lane) -> Work | None:
    """What a lane works on in this scope, or None."""
    if lane is Lane.SETTLE:
        return None if state.slot is None else Work(state.slot.window.id, state.slot.attempt)
    if lane is Lane.DELIVER:
        return Work(state.outbox[0].id, state.outbox[0].attempt) if state.outbox else None
    return Work(state.dead[0].id, state.dead[0].attempt) if state.dead else None


def with_attempt(state: ScopeState, lane: Lane, attempt: Attempt) -> ScopeState:
    """The state with the lane's work standing as `attempt`. The lane must have work."""
    if lane is Lane.SETTLE:
        assert state.slot is not None
        return replace(state, slot=Slot(state.slot.window, state.slot.may_wait, attempt))
    if lane is Lane.DELIVER:
        return replace(state, outbox=(replace(state.outbox[0], attempt=attempt), *state.outbox[1:]))
    return replace(state, dead=(replace(state.dead[0], attempt=attempt), *state.dead[1:]))


def fail(
    state: ScopeState,
    lane: Lane,
    message: str,
    now: int,
    rules: Rules,
    *,
    permanent: bool,
    retry_after_ms: int,
) -> Moved:
    """A call failed: the work waits for the ladder's next rung, or has used it up.

    A burial never does: its backoff doubles up to the cap.
    """
    work = _present(state, lane)
    failures = work.attempt.failures
    if lane is Lane.BURY:
        backoff_ms = min(first_rung_ms(rules) << min(failures, 30), rules.dead_letter_backoff_max_ms)
    elif permanent or failures >= len(rules.retry_backoff_ms):
        return _give_up(state, lane, End.FAILED, message, now)
    else:
        backoff_ms = rules.retry_backoff_ms[failures]
    attempt = work.attempt.fail(now + max(backoff_ms, retry_after_ms), now, message)
    trace = CallRetried(state.scope, lane, work.id, message, attempt.due_at, False)
    return with_attempt(state, lane, attempt), (trace,)


def lose(state: ScopeState, lane: Lane, now: int, rules: Rules) -> Moved:
    """A call's worker went away: the work waits a little, or has cost enough workers."""
    work = _present(state, lane)
    losses = work.attempt.losses + 1
    if losses >= LOSSES_UNTIL_DEAD and lane is not Lane.BURY:
        message = f"its {_CALLS[lane]} was lost {losses} times: each time the worker that made it went away"
        return _give_up(state, lane, End.LOST, message, now)
    backoff_ms = loss_backoff(work.id, min(losses, 30), first_rung_ms(rules))
    attempt = work.attempt.lose(now + min(backoff_ms, rules.dead_letter_backoff_max_ms), now)
    message = f"the worker that made the {_CALLS[lane]} went away"
    trace = CallRetried(state.scope, lane, work.id, message, attempt.due_at, True)
    return with_attempt(state, lane, attempt), (trace,)


def first_rung_ms(rules: Rules) -> int:
    """The ladder's first rung, or a second without a ladder."""
    return rules.retry_backoff_ms[0] if rules.retry_backoff_ms else 1000


def _present(state: ScopeState, lane: Lane) -> Work:
    work = work_of(state, lane)
    assert work is not None
    return work


def _give_up(state: ScopeState, lane: Lane, end: End, message: str, now: int) -> Moved:
    effects: tuple[Effect, ...] = ()
    if lane is Lane.SETTLE:
        assert state.slot is not None
        window, starts = state.slot.window, state.slot.attempt.starts
        past = state.slot.attempt.and_then(now, end, message)
        dead = _dead(window.id, window.event_ids, Stage.JUDGE, message, starts, now, past)
        state = replace(state, slot=None)
        # A decision's window is stored already; one that never got a verdict is stored for its dead letter.
        effects = (Keep(window),)
    else:
        parcel = state.outbox[0]
        past = parcel.attempt.and_then(now, end, message)
        dead = _dead(parcel.id, parcel.event_ids, Stage.SINK, message, parcel.attempt.starts, now, past)
        state = replace(state, outbox=state.outbox[1:])
    trace = DeadLettered(state.scope, dead.id, dead.stage, message, dead.starts)
    return replace(state, dead=(*state.dead, dead)), (*effects, trace)


def _dead(
    window: str,
    event_ids: tuple[str, ...],
    stage: Stage,
    message: str,
    starts: int,
    now: int,
    past: tuple[Past, ...],
) -> Dead:
    return Dead(letter_id(window), window, event_ids, stage, message, starts, now, Attempt(now, past=past))
