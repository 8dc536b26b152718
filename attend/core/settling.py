"""When a window settles, why, and what goes to the judge."""

from __future__ import annotations

from msgspec.structs import replace

from attend.core.attempt import Attempt
from attend.core.effect import Judge
from attend.core.opening import without_oldest
from attend.core.rules import Rules
from attend.core.state import OpenWindow, ScopeState, Slot
from attend.core.trace import EventsDropped, Trace, WindowSettled
from attend.core.types import Reason, Route, Window

FINAL = frozenset({Reason.FLUSH, Reason.FORCED, Reason.HORIZON})
"""Reasons for which `wait` is not offered."""

ALWAYS_OFFERED = (Route.INTERRUPT, Route.QUEUE, Route.NOTE, Route.ASK, Route.SKIP)


def offered(slot: Slot) -> tuple[Route, ...]:
    """The routes a judge may answer for the window in the slot."""
    return (*ALWAYS_OFFERED, Route.WAIT) if slot.may_wait else ALWAYS_OFFERED


def deadlines(state: ScopeState, rules: Rules) -> list[tuple[int, Reason]]:
    """Every instant at which what is open or held settles, with its reason. The judge slot is not looked at."""
    found: list[tuple[int, Reason]] = []
    window, held = state.open, state.held
    if window.flush_at is not None:
        found.append((window.flush_at, Reason.FLUSH))
    if state.forced is not None:
        found.append((state.forced.at, state.forced.reason))
    if window.closing_at is not None:
        found.append((window.closing_at + rules.closing_grace_ms, Reason.CLOSING))
    if window.continuous_at is not None:
        found.append((window.continuous_at + rules.stream_gap_ms, Reason.CONTINUOUS))
    if window.passive_at is not None:
        found.append((window.passive_at + rules.passive_quiet_ms, Reason.PASSIVE))
    if window.first_act_at is not None:
        found.append((window.first_act_at + rules.max_window_ms, Reason.AGE))
        if window.acts > rules.max_events:
            found.append((window.first_act_at, Reason.OVERFLOW))
    # Held and open go to the judge together, so they count together.
    size = window.size + (0 if held is None else held.window.size)
    if window.events and (window.acts or held is not None) and size >= rules.max_window_bytes:
        found.append((_began_at(state), Reason.SIZE))
    if held is not None:
        found.append((held.horizon_at, Reason.HORIZON))
    return found


def _began_at(state: ScopeState) -> int:
    # An instant that has passed and that no later event moves.
    if state.open.first_act_at is not None:
        return state.open.first_act_at
    return state.now if state.held is None else state.held.window.settled_at


def reason_now(state: ScopeState, now: int, rules: Rules) -> Reason | None:
    """Why the window settles now; None while no deadline has come.

    The earliest deadline gives the reason. But where a flush, or a forced settle, waited for the judge slot, it
    is the reason whatever else came due meanwhile: someone who addresses the agent is not put off with `wait`.
    """
    due = [deadline for deadline in deadlines(state, rules) if deadline[0] <= now]
    for reason in (Reason.FLUSH, Reason.FORCED):
        if any(found is reason for _, found in due):
            return reason
    return min(due, key=lambda deadline: deadline[0])[1] if due else None


def settle(
    state: ScopeState, reason: Reason, now: int, rules: Rules
) -> tuple[ScopeState, tuple[Judge | Trace, ...]]:
    """What is open, after what is held, becomes the window in judgement."""
    held, window = state.held, state.open
    before = held.window if held is not None else None
    events = (*(before.events if before else ()), *window.events)
    size, dropped = window.size + (before.size if before else 0), window.dropped
    traces: list[Trace] = []
    excess = min(len(events) - rules.max_events, sum(not event.kind.is_act for event in events))
    if before is not None and excess > 0:
        events = without_oldest(events, excess)
        size, dropped = sum(event.size for event in events), dropped + excess
        traces.append(EventsDropped(state.scope, excess, "more than max_events once merged"))
    settled = Window(
        scope=state.scope,
        events=events,
        reason=reason,
        settled_at=now,
        size=size,
        dropped=dropped + (before.dropped if before else 0),
        gap=window.gap or (before is not None and before.gap),
        waits=before.waits if before else 0,
    )
    may_wait = (
        reason not in FINAL
        and settled.waits < rules.max_waits
        and not (held is not None and held.horizon_at <= now)
    )
    slot = Slot(settled, may_wait, Attempt(now, past=() if held is None else held.past))
    state = replace(state, open=OpenWindow(), held=None, forced=None, slot=slot)
    traces.append(WindowSettled(state.scope, settled.id, reason, len(events), before is not None))
    state, call = start_judge(state, slot, now, rules)
    return state, (*traces, call)


def start_judge(state: ScopeState, slot: Slot, now: int, rules: Rules) -> tuple[ScopeState, Judge]:
    """The slot's window leased under a new token. The lease is twice the judge's timeout."""
    token = state.token + 1
    attempt = slot.attempt.start(now, 2 * rules.judge_timeout_ms, token)
    call = Judge(
        window=slot.window,
        token=token,
        routes=offered(slot),
        recent=state.recent,
        starts=attempt.starts,
        leased_until=now + 2 * rules.judge_timeout_ms,
        suspect=attempt.suspect,
    )
    return replace(state, token=token, slot=Slot(slot.window, slot.may_wait, attempt)), call
