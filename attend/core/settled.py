"""Why a window settled, in a sentence."""

from __future__ import annotations

from attend.core.types import Event, Kind, Reason, Window


def why_settled(window: Window, limit: int | None = None) -> str:
    """A sentence about the window's reason: the event behind it, and the rule's number where it is known."""
    after = "" if limit is None else f" for {limit} ms"
    match window.reason:
        case Reason.CLOSING:
            last = _last(window, Kind.CLOSING)
            if last is None:
                return "the producer said that the unit was over"
            if limit is not None and window.settled_at - last.accepted_at < limit:
                return f"the producer said that the unit was over; its last closing event was {_name(last)}"
            return f"{_name(last)} closed something, and no closing event came{after} after it"
        case Reason.CONTINUOUS:
            return f"{_name(_last(window, Kind.CONTINUOUS))} went on, and no continuous event came{after} after it"
        case Reason.PASSIVE:
            return f"{_name(_last(window, Kind.PASSIVE))} was the last look, and none came{after} after it"
        case Reason.FLUSH:
            return f"{_name(_first(window, Kind.FLUSH))} was addressed to the agent: it settles at once"
        case Reason.FORCED:
            return "somebody asked for a verdict with a flush"
        case Reason.HORIZON:
            return f"it was told to wait, and nothing else settled{after}: its horizon came"
        case Reason.AGE:
            first = next((event for event in window.events if event.kind.is_act), None)
            held = "" if limit is None else f" {limit} ms after it"
            return f"acts kept coming: {_name(first)} was the first, and it settles{held} whatever comes"
        case Reason.OVERFLOW:
            most = "as many acts as it may" if limit is None else f"more than {limit} acts"
            return f"it held {most}: no act is ever shed, so it settles"
        case Reason.SIZE:
            most = "its share of what the judge reads" if limit is None else f"{limit} bytes, all that it may"
            return f"it held {most}"


def _first(window: Window, kind: Kind) -> Event | None:
    return next((event for event in window.events if event.kind is kind), None)


def _last(window: Window, kind: Kind) -> Event | None:
    return next((event for event in reversed(window.events) if event.kind is kind), None)


def _name(event: Event | None) -> str:
    return "an event" if event is None else f"{event.name} ({event.id})"
