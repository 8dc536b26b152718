"""How events join the open window, what is known already, and what is shed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

from msgspec.structs import force_setattr, replace

from attend.core.input import Pushed
from attend.core.rules import Rules
from attend.core.state import OpenWindow, ScopeState
from attend.core.trace import EventsDropped, Trace
from attend.core.types import ACTS, Event, Kind, size_of

OUTBOX = "outbox"
DEAD_LETTERS = "dead letters"


def full_lane(state: ScopeState, rules: Rules) -> str | None:
    """The name of a lane that is at its cap, so that the scope takes no more events.

    An outbox left over from when there was a sink does not count: nothing would ever drain it.
    """
    if rules.sink and len(state.outbox) >= rules.max_outbox:
        return OUTBOX
    if len(state.dead) >= rules.max_dead_letters:
        return DEAD_LETTERS
    return None


def checksum(event: Event) -> int:
    """A checksum of what an event says: two with one id and different checksums are a conflict.

    `at` is left out: the server gives it anew where a producer sent none.
    """
    words = event.name if event.text is None else f"{event.name}\0{event.text}"
    return crc32(words.encode() + event.data_json)  # One long text takes less time than two short ones.


def read_cursor(state: ScopeState, pushed: Pushed) -> ScopeState:
    """The state with what the push says of its source: how far it was read, and whether it lost something."""
    source, cursor = pushed.source, pushed.cursor
    if source is not None and cursor is not None and state.cursors.get(source) != cursor:
        state = replace(state, cursors={**state.cursors, source: cursor})
    if pushed.gap and not state.open.gap:
        state = replace(state, open=replace(state.open, gap=True))
    return state


def join(
    state: ScopeState,
    events: list[Event],
    checksums: Mapping[str, int],
    repeated: set[str],
    now: int,
    rules: Rules,
) -> tuple[ScopeState, list[Trace]]:
    """The state with new events in its open window and its memory, and what had to be shed for them.

    `repeated` are the ids that came with them and were known: they stay so, or the same push sent again would
    find them forgotten in favour of its own.
    """
    traces: list[Trace] = []
    arrived = [_accepted(event, now) for event in events]
    window = state.open
    first = 0
    if not window.acts:
        # Until an act comes, non-acts are shed to stay within the limits; then they are part of its window.
        first = len(arrived)
        if not ACTS.isdisjoint([event.kind for event in arrived]):
            first = next(i for i, event in enumerate(arrived) if event.kind in ACTS)
        if first:
            some = arrived if first == len(arrived) else arrived[:first]
            window = _shed(state, _add(window, some, now), rules, traces)
        if first < len(arrived):
            window = _drop_aged(state.scope, window, now - rules.max_window_ms, traces)
    if first < len(arrived):
        window = _shed(state, _add(window, arrived[first:], now), rules, traces)
    seen = state.seen.with_more(
        checksums, rules.seen_count, lambda oldest: _live_ids(state, window, oldest) | repeated
    )
    return replace(state, open=window, seen=seen, now=now), traces


def _accepted(event: Event, now: int) -> Event:
    """The event as accepted now.

    One that was not accepted before is no part of any state yet: it is completed in place, once, since a copy of
    each would cost more than all else that is done with it here. One that was, in a step that did not come to be
    committed or that is tried again, is copied where the instant is another.
    """
    if not event.accepted_at:
        force_setattr(event, "accepted_at", now)
    elif event.accepted_at != now:
        return Event(event.id, event.name, event.kind, event.at, event.data_json, event.text, now)
    return event


def without_oldest(events: tuple[Event, ...], count: int) -> tuple[Event, ...]:
    """The events without the oldest `count` non-acts."""
    return _split(events, count)[0]


def _split(events: tuple[Event, ...], count: int) -> tuple[tuple[Event, ...], Sequence[Event]]:
    """The events without the oldest `count` non-acts, and those."""
    head = events[:count]
    if ACTS.isdisjoint([event.kind for event in head]):
        return events[count:], head
    acts: list[Event] = []
    dropped: list[Event] = []
    for event in events:
        if len(dropped) == count:
            break
        (acts if event.kind in ACTS else dropped).append(event)
    return (*acts, *events[len(acts) + len(dropped) :]), dropped


def _add(window: OpenWindow, events: list[Event], now: int) -> OpenWindow:
    kinds = [event.kind for event in events]
    size = window.size + size_of(events)
    if ACTS.isdisjoint(kinds):
        return replace(window, events=window.events + tuple(events), size=size)
    acts = sum([kind in ACTS for kind in kinds])
    return OpenWindow(
        events=window.events + tuple(events),
        size=size,
        acts=window.acts + acts,
        dropped=window.dropped,
        gap=window.gap,
        first_act_at=now if window.first_act_at is None else window.first_act_at,
        flush_at=now if window.flush_at is None and Kind.FLUSH in kinds else window.flush_at,
        closing_at=now if Kind.CLOSING in kinds else window.closing_at,
        continuous_at=now if Kind.CONTINUOUS in kinds else window.continuous_at,
        passive_at=now if Kind.PASSIVE in kinds else window.passive_at,
    )


def _drop_aged(scope: str, window: OpenWindow, oldest: int, traces: list[Trace]) -> OpenWindow:
    # Only non-acts are here, in the order they were accepted.
    count = sum(event.accepted_at < oldest for event in window.events)
    return _drop(scope, window, count, "waited too long for an act", traces)


def _shed(state: ScopeState, window: OpenWindow, rules: Rules, traces: list[Trace]) -> OpenWindow:
    excess = len(window.events) - rules.max_events
    if excess > 0:
        spare = len(window.events) - window.acts
        window = _drop(state.scope, window, min(excess, spare), "more than max_events", traces)
    if not window.acts and state.held is None and window.size > rules.max_window_bytes:
        size, count = window.size, 0
        for event in window.events:
            if size <= rules.max_window_bytes:
                break
            size -= event.size
            count += 1
        window = _drop(state.scope, window, count, "more than the window's bytes", traces)
    return window


def _drop(scope: str, window: OpenWindow, count: int, why: str, traces: list[Trace]) -> OpenWindow:
    if not count:
        return window
    traces.append(EventsDropped(scope, count, why))
    kept, dropped = _split(window.events, count)
    size = window.size - size_of(dropped)
    return replace(window, events=kept, size=size, dropped=window.dropped + len(dropped))


def _live_ids(state: ScopeState, window: OpenWindow, oldest: list[str]) -> set[str]:
    """Which ids the scope still holds, with this open window, where some are among these, the oldest of its memory."""
    live: set[str] = set()
    # Open events stand in the order they were remembered: where their first is not among these, none is.
    if window.events and window.events[0].id in oldest:
        live.update(event.id for event in window.events)
    if state.held is not None:
        live.update(state.held.window.event_ids)
    if state.slot is not None:
        live.update(state.slot.window.event_ids)
    for again in state.again:
        live.update(again.window.event_ids)
    for parcel in state.outbox:
        live.update(parcel.event_ids)
    for dead in state.dead:
        live.update(dead.event_ids)
    return live
