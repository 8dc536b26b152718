"""How events join the open window, what is known already, and what is shed."""

from __future__ import annotations

from itertools import islice
from zlib import crc32

from msgspec.structs import replace

from attend.core.input import Pushed
from attend.core.rules import Rules
from attend.core.state import OpenWindow, ScopeState
from attend.core.trace import EventsDropped, Trace
from attend.core.types import ACTS, Event, Kind

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
    return crc32(event.data_json, crc32(words.encode()))


def read_cursor(state: ScopeState, pushed: Pushed) -> ScopeState:
    """The state with what the push says of its source: how far it was read, and whether it lost something."""
    source, cursor = pushed.source, pushed.cursor
    if source is not None and cursor is not None and state.cursors.get(source) != cursor:
        state = replace(state, cursors={**state.cursors, source: cursor})
    if pushed.gap and not state.open.gap:
        state = replace(state, open=replace(state.open, gap=True))
    return state


def join(
    state: ScopeState, events: list[Event], checksums: list[int], repeated: set[str], now: int, rules: Rules
) -> tuple[ScopeState, list[Trace]]:
    """The state with new events in its open window and its memory, and what had to be shed for them.

    `repeated` are the ids that came with them and were known: they stay so, or the same push sent again would
    find them forgotten in favour of its own.
    """
    traces: list[Trace] = []
    arrived = [
        Event(event.id, event.name, event.kind, event.at, event.data_json, event.text, now)
        for event in events
    ]
    window = state.open
    first = 0
    if not window.acts:
        # Until an act comes, non-acts are shed to stay within the limits; then they are part of its window.
        first = next((i for i, event in enumerate(arrived) if event.kind in ACTS), len(arrived))
        if first:
            window = _shed(state, _add(window, arrived[:first], now), rules, traces)
        if first < len(arrived):
            window = _drop_aged(state.scope, window, now - rules.max_window_ms, traces)
    if first < len(arrived):
        window = _shed(state, _add(window, arrived[first:], now), rules, traces)
    seen = state.seen.copy()  # dict() would insert them one by one where some were deleted before.
    for event, check in zip(arrived, checksums, strict=True):
        seen[event.id] = check
    state = replace(state, open=window)
    return replace(state, seen=_remembered(state, seen, repeated, rules.seen_count)), traces


def without_oldest(events: tuple[Event, ...], count: int) -> tuple[Event, ...]:
    """The events without the oldest `count` non-acts."""
    return _split(events, count)[0]


def _split(events: tuple[Event, ...], count: int) -> tuple[tuple[Event, ...], list[Event]]:
    """The events without the oldest `count` non-acts, and those."""
    acts: list[Event] = []
    dropped: list[Event] = []
    for event in events:
        if len(dropped) == count:
            break
        (acts if event.kind in ACTS else dropped).append(event)
    rest = events[len(acts) + len(dropped) :]
    return (*acts, *rest) if acts else rest, dropped


def _add(window: OpenWindow, events: list[Event], now: int) -> OpenWindow:
    kinds = {event.kind for event in events}
    acts = 0 if kinds.isdisjoint(ACTS) else sum(event.kind in ACTS for event in events)
    return OpenWindow(
        events=window.events + tuple(events),
        size=window.size + sum(event.size for event in events),
        acts=window.acts + acts,
        dropped=window.dropped,
        gap=window.gap,
        first_act_at=now if window.first_act_at is None and acts else window.first_act_at,
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
    size = window.size - sum(event.size for event in dropped)
    return replace(window, events=kept, size=size, dropped=window.dropped + len(dropped))


def _remembered(state: ScopeState, seen: dict[str, int], repeated: set[str], count: int) -> dict[str, int]:
    """`seen` cut to its last `count` ids, the older ones that the scope still holds, and the repeated."""
    excess = len(seen) - count
    if excess <= 0:
        return seen
    oldest = list(islice(seen, excess))
    kept = _live_ids(state, oldest) | repeated
    for event_id in oldest:
        if event_id not in kept:
            del seen[event_id]
    return seen


def _live_ids(state: ScopeState, oldest: list[str]) -> set[str]:
    """Which ids the scope still holds, where some are among these, the oldest of its memory."""
    live: set[str] = set()
    # Open events stand in the order they were remembered: where their first is not among these, none is.
    if state.open.events and state.open.events[0].id in oldest:
        live.update(event.id for event in state.open.events)
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
