"""The one transition: `step` applies one input to one scope's state."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from attend.core.delivery import end_burial, end_delivery, start_burial, start_delivery
from attend.core.effect import Announce, Effect
from attend.core.input import (
    DeadDropped,
    DeadRetried,
    Delivered,
    Ended,
    Failed,
    Flushed,
    Input,
    Judged,
    Lost,
    Pushed,
    Released,
    RulesChanged,
    Ticked,
)
from attend.core.judging import judge_failed, take_verdict
from attend.core.letter import Lettered, begin_again, drop, retry
from attend.core.news import read_news
from attend.core.opening import checksum, full_lane, join, read_cursor
from attend.core.rules import Rules
from attend.core.settling import deadlines, reason_now, settle, start_judge
from attend.core.signals import DEFAULT_SIGNALS, signal_of
from attend.core.state import Forced, ScopeState
from attend.core.trace import StaleRefused
from attend.core.types import Event, Lane, Reason
from attend.core.work import Moved, Work, fail, lose, with_attempt, work_of

REMEMBERED_REQUESTS = 64
"""How many flush and end requests a scope knows again by their id."""


class Taken(Struct, frozen=True):
    """What became of a push. Positions count the pushed events from 0.

    `duplicates` holds the positions known already, `conflicts` those among them whose content differs from the
    first, `refused` those that met a full lane, which `full` then names.
    """

    accepted: int
    duplicates: tuple[int, ...] = ()
    conflicts: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    full: str | None = None


class Settling(Struct, frozen=True):
    """What a flush or an end found: whether there was anything to settle."""

    settled: bool


Reply = Taken | Settling | Lettered


class Step(Struct, frozen=True):
    """What one input led to. `reply` answers a push, a flush, an end or what was asked about a dead letter, and is
    None for the others.

    `state` is the very state given where the input changed nothing.
    """

    state: ScopeState
    effects: tuple[Effect, ...] = ()
    reply: Reply | None = None


def step(state: ScopeState, input: Input, now: int, rules: Rules) -> Step:
    """Apply one input at one instant.

    Pure and deterministic: a replay of the same inputs at the same instants gives the same states, effects and
    ids. Within a scope time never goes back, so an earlier `now` counts as the scope's own. An input that was
    applied before changes nothing. Raises nothing.
    """
    now = max(now, state.now)
    reply: Reply | None = None
    match input:
        case Pushed():
            moved, reply = _push(state, input, now, rules)
        case Flushed() | Ended():
            moved, reply = _request(state, input, now)
        case Ticked():
            moved = _tick(state, input, now, rules)
        case Judged():
            moved = _judged(state, input, now, rules)
        case Delivered():
            moved = _delivered(state, input, now)
        case Failed() | Lost() | Released():
            moved = _ended(state, input, now, rules)
        case DeadRetried():
            moved, reply = retry(state, input, now, rules)
        case DeadDropped():
            moved, reply = drop(state, input)
        case RulesChanged():
            moved = _rules(state, input)
        case _:
            assert_never(input)
    after, effects = moved
    if after is not state and after.now != now:
        after = replace(after, now=now)
    return Step(after, effects, reply)


def _push(state: ScopeState, pushed: Pushed, now: int, rules: Rules) -> tuple[Moved, Taken]:
    seen, full = state.seen, full_lane(state, rules)
    fresh = {event.id: checksum(event) for event in pushed.events}
    if full is None and len(fresh) == len(pushed.events) and seen.has_none_of(fresh):
        return _take(state, pushed, list(pushed.events), fresh, Taken(len(fresh)), now, rules)
    fresh.clear()
    events: list[Event] = []
    duplicates: list[int] = []
    conflicts: list[int] = []
    refused: list[int] = []
    for position, event in enumerate(pushed.events):
        content = checksum(event)
        known = seen.get(event.id)
        if known is None:
            known = fresh.get(event.id)
        if known is not None:
            duplicates.append(position)
            if known != content:
                conflicts.append(position)
        elif full is not None:
            refused.append(position)
        else:
            fresh[event.id] = content
            events.append(event)
    taken = Taken(len(events), tuple(duplicates), tuple(conflicts), tuple(refused), full if refused else None)
    if refused:
        # The source goes on from its old cursor once the lane has drained.
        return (state, ()), taken
    return _take(state, pushed, events, fresh, taken, now, rules)


def _take(
    state: ScopeState,
    pushed: Pushed,
    events: list[Event],
    fresh: dict[str, int],
    taken: Taken,
    now: int,
    rules: Rules,
) -> tuple[Moved, Taken]:
    """The push's new events join, whose checksums by id are `fresh`."""
    after = read_cursor(state, pushed)
    if not events:
        return (after, ()), taken
    repeated = {pushed.events[position].id for position in taken.duplicates}
    after, traces = join(after, events, fresh, repeated, now, rules)
    return (after, (*traces, *_news(state.scope, events, now, rules))), taken


def _news(scope: str, events: list[Event], now: int, rules: Rules) -> list[Announce]:
    found: list[Announce] = []
    if not rules.signals and DEFAULT_SIGNALS.keys().isdisjoint([event.name for event in events]):
        return found
    for event in events:
        signal = signal_of(event.name, rules.signals)
        if signal is not None and (news := read_news(scope, event, signal, now)) is not None:
            found.append(Announce(news))
    return found


def _request(state: ScopeState, request: Flushed | Ended, now: int) -> tuple[Moved, Settling]:
    outcome = state.settled.get(request.id)
    if outcome is not None:
        return (state, ()), Settling(outcome)
    outcome = not state.open.is_empty or state.held is not None
    remembered = list(state.settled.items())[-(REMEMBERED_REQUESTS - 1) :]
    forced = state.forced
    if outcome:
        if forced is None:
            forced = Forced(Reason.FORCED if isinstance(request, Flushed) else Reason.CLOSING, now)
        elif isinstance(request, Flushed):
            forced = Forced(Reason.FORCED, forced.at)
    after = replace(state, forced=forced, settled=dict([*remembered, (request.id, outcome)]))
    return (after, ()), Settling(outcome)


def _tick(state: ScopeState, ticked: Ticked, now: int, rules: Rules) -> Moved:
    lane = ticked.lane
    if (lane is Lane.DELIVER and not rules.sink) or (lane is Lane.BURY and not rules.dead_letter):
        return state, ()
    work = work_of(state, lane)
    if work is None:
        return _next_window(state, now, rules) if lane is Lane.SETTLE else (state, ())
    if work.attempt.expired(now):
        return _take_over(state, work, ticked, now, rules) if ticked.takeover else (state, ())
    if not work.attempt.may_start(now):
        return state, ()
    if lane is Lane.DELIVER:
        return start_delivery(state, now, rules)
    if lane is Lane.BURY:
        return start_burial(state, now, rules)
    assert state.slot is not None
    after, call = start_judge(state, state.slot, now, rules)
    return after, (call,)


def _next_window(state: ScopeState, now: int, rules: Rules) -> Moved:
    """What has been due for longest goes to the judge: a window that is retried, or what is open and held."""
    settles_at = min((at for at, _ in deadlines(state, rules)), default=now)
    if state.again and state.again[0].due_at <= min(now, settles_at):
        return begin_again(state, now, rules)
    reason = reason_now(state, now, rules)
    return (state, ()) if reason is None else settle(state, reason, now, rules)


def _take_over(state: ScopeState, work: Work, ticked: Ticked, now: int, rules: Rules) -> Moved:
    after, effects = lose(state, ticked.lane, now, rules)
    left = work_of(after, ticked.lane)
    if left is not None and left.id == work.id:
        return after, effects
    # It was given up, so what comes after it may be due: a second tick at this instant must find nothing to do.
    after, more = _tick(after, ticked, now, rules)
    return after, (*effects, *more)


def _judged(state: ScopeState, judged: Judged, now: int, rules: Rules) -> Moved:
    slot = state.slot
    if slot is None or slot.window.id != judged.window or slot.attempt.token != judged.token:
        return state, (StaleRefused(state.scope, Lane.SETTLE, judged.window),)
    return take_verdict(state, slot, judged.judgment, now, rules, judged.asked)


def _delivered(state: ScopeState, delivered: Delivered, now: int) -> Moved:
    # It has arrived, whoever holds the lease by now: no token is asked for.
    # A judge call ends with a verdict and is never delivered.
    work = None if delivered.lane is Lane.SETTLE else work_of(state, delivered.lane)
    if work is None or work.id != delivered.id:
        return state, (StaleRefused(state.scope, delivered.lane, delivered.id),)
    return end_delivery(state, now) if delivered.lane is Lane.DELIVER else end_burial(state, now)


def _ended(state: ScopeState, ended: Failed | Lost | Released, now: int, rules: Rules) -> Moved:
    lane = ended.lane
    work = work_of(state, lane)
    if (
        work is None
        or work.id != ended.id
        or work.attempt.token != ended.token
        # Its lease ran out and the loss was counted: the call is not counted a second time.
        or work.attempt.leased_until is None
    ):
        return state, (StaleRefused(state.scope, lane, ended.id),)
    if isinstance(ended, Failed):
        if lane is Lane.SETTLE and state.slot is not None:
            return judge_failed(state, state.slot, ended, now, rules)
        return fail(
            state,
            lane,
            ended.message,
            now,
            rules,
            permanent=ended.permanent,
            retry_after_ms=ended.retry_after_ms,
        )
    if isinstance(ended, Lost):
        return lose(state, lane, now, rules)
    return with_attempt(state, lane, work.attempt.release(now)), ()


def _rules(state: ScopeState, changed: RulesChanged) -> Moved:
    if changed.generation <= state.generation:
        return state, ()
    return replace(state, generation=changed.generation, digest=changed.rules.digest), ()
