"""The outbox and the dead-letter lane: one call at a time, oldest first."""

from __future__ import annotations

from msgspec.structs import replace

from attend.core.account import Arrival
from attend.core.effect import Bury, Deliver, Drop
from attend.core.rules import Rules
from attend.core.state import ScopeState
from attend.core.trace import DeadLetterTaken, DecisionDelivered
from attend.core.types import Lane
from attend.core.work import Moved, with_attempt


def start_delivery(state: ScopeState, now: int, rules: Rules) -> Moved:
    """The outbox's head, leased to a sink call."""
    parcel, token = state.outbox[0], state.token + 1
    attempt = parcel.attempt.start(now, rules.delivery_timeout_ms, token)
    call = Deliver(parcel.id, token, now + rules.delivery_timeout_ms, attempt.suspect)
    return replace(with_attempt(state, Lane.DELIVER, attempt), token=token), (call,)


def end_delivery(state: ScopeState, now: int) -> Moved:
    """The sink took the outbox's head."""
    parcel = state.outbox[0]
    ended = replace(state, outbox=state.outbox[1:])
    arrival = Arrival(now, parcel.attempt.starts, parcel.attempt.past)
    return ended, (Drop(parcel.id, True, arrival), DecisionDelivered(state.scope, parcel.id))


def start_burial(state: ScopeState, now: int, rules: Rules) -> Moved:
    """The oldest dead letter, leased to a call of the dead-letter handler."""
    dead, token = state.dead[0], state.token + 1
    attempt = dead.attempt.start(now, rules.delivery_timeout_ms, token)
    until = now + rules.delivery_timeout_ms
    call = Bury(dead.id, dead.window, dead.stage, dead.message, dead.starts, dead.at, token, until)
    return replace(with_attempt(state, Lane.BURY, attempt), token=token), (call,)


def end_burial(state: ScopeState, now: int) -> Moved:
    """The handler took the oldest dead letter."""
    dead = state.dead[0]
    return replace(state, dead=state.dead[1:]), (
        Drop(dead.window, True, Arrival(now, dead.attempt.starts, dead.attempt.past, buried=True)),
        DeadLetterTaken(state.scope, dead.id),
    )
