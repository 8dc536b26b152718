"""Decisions put straight into a log, for tests of those who read it."""

from __future__ import annotations

import itertools

from attend.core.codec import encode
from attend.core.types import Event, Kind, Reason, Route, Summary, Window
from attend.seal import Seal
from attend.store.base import Outcome, Position, Row, ScopeStore, Write

AT = 1_760_570_000_000
_numbers = itertools.count(1)


async def decide(
    store: ScopeStore,
    scope: str = "ops/db",
    *,
    route: Route = Route.INTERRUPT,
    confidence: float | None = None,
    decided_at: int = AT,
    notice: str = "replica lag 40s",
) -> str:
    """Log one decision about one event; its id."""
    number = next(_numbers)
    event = Event(f"e{number}", "alert.fired", Kind.FLUSH, AT, b"{}", notice, AT)
    window = Window(scope=scope, events=(event,), reason=Reason.FLUSH, settled_at=AT)
    summary = Summary(
        id=window.id,
        scope=scope,
        route=route,
        reason=window.reason,
        decided_at=decided_at,
        notice=notice,
        event_ids=window.event_ids,
        confidence=confidence,
    )
    write = Write(
        scope=f"log-{number}",
        expected="",
        version=f"1-{number}",
        at=decided_at,
        snapshot=b"",
        rows=(Row(window.id, encode(summary), encode(window), held=False),),
    )
    assert await store.commit([write]) == [Outcome.OK]
    return window.id


async def decide_many(store: ScopeStore, count: int, scope: str = "ops/db") -> list[str]:
    """Log several decisions, one after another; their ids."""
    return [await decide(store, scope) for _ in range(count)]


async def sealed(store: ScopeStore, position: Position) -> str:
    """A place in the log as a cursor, whether there is such a place or not."""
    return Seal(await store.log.secret(), position.epoch).close(position, unlike=False)
