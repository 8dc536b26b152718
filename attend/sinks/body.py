"""A decision as it is sent to a webhook: JSON in camelCase, the same bytes each time."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from attend.core.types import Decision, Event, Kind, Reason, Route


class _Event(Struct, rename="camel", omit_defaults=True):
    id: str
    name: str
    kind: Kind
    at: int
    accepted_at: int
    data: msgspec.Raw
    text: str | None = None


class _Window(Struct, rename="camel"):
    settled_at: int
    events: list[_Event]


class _Body(Struct, rename="camel", omit_defaults=True, kw_only=True):
    id: str
    scope: str
    route: Route
    reason: Reason
    decided_at: int
    notice: str
    event_ids: tuple[str, ...]
    event_count: int
    # An int and a bool have no default here: a receiver is to find them always.
    dropped: int
    gap: bool
    waits: int
    starts: int
    degraded: bool
    confidence: float | None = None
    probabilities: dict[str, float] | None = None
    predicates: dict[str, float] | None = None
    changed_from: Route | None = None
    judge: str | None = None
    window: _Window


def body_of(decision: Decision) -> bytes:
    """The decision with the events of its window, whose data keep the digits they came with.

    It holds nothing that changes from one try to the next.
    """
    return msgspec.json.encode(
        _Body(
            id=decision.id,
            scope=decision.scope,
            route=decision.route,
            reason=decision.reason,
            decided_at=decision.decided_at,
            notice=decision.notice,
            event_ids=decision.event_ids,
            event_count=len(decision.event_ids),
            dropped=decision.dropped,
            gap=decision.gap,
            waits=decision.waits,
            starts=decision.starts,
            degraded=decision.degraded,
            confidence=decision.confidence,
            probabilities=decision.probabilities,
            predicates=decision.predicates,
            changed_from=decision.changed_from,
            judge=decision.judge,
            window=_Window(decision.window.settled_at, [_event(each) for each in decision.window.events]),
        )
    )


def _event(event: Event) -> _Event:
    return _Event(
        event.id,
        event.name,
        event.kind,
        event.at,
        event.accepted_at,
        msgspec.Raw(event.data_json),
        event.text,
    )
