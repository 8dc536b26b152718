"""A decision explained: what is kept with its window, and where it is by now."""

from __future__ import annotations

from attend.core import codec
from attend.core.explain import Arriving, Delivery, Explanation, Logged, arrived, explain, starts, waiting
from attend.core.state import ScopeState
from attend.core.types import Summary, Window, letter_id
from attend.engine import Engine
from attend.store.base import StoredWindow

_MARK = letter_id("")


async def explanation_of(engine: Engine, id: str) -> Explanation | None:
    """Everything that is kept of a decision, or of a dead letter; None where it is not known or has been trimmed.

    Raises `StoreUnavailableError`, `StoreCorruptError` and `StateFormatError`.
    """
    window_id = id.removeprefix(_MARK)
    stored = await engine.store.window(window_id)
    if stored is None:
        return None
    window = codec.decode_window(stored.window)
    summary = None if stored.summary is None else codec.decode_summary(stored.summary)
    scope = await engine.stored(window.scope)
    delivery = _delivery(stored, window, scope.state, sink=engine.book.of(scope.state).sink)
    logged = None if summary is None else await _logged(engine, summary)
    return explain(window, summary, codec.decode_account(stored.window), delivery, logged)


async def _logged(engine: Engine, summary: Summary) -> Logged:
    place = await engine.store.log.find(summary.id)
    if place is None:
        return Logged(summary.decided_at, None, None)
    return Logged(summary.decided_at, place.n, place.id)


def _delivery(stored: StoredWindow, window: Window, state: ScopeState, *, sink: bool) -> Delivery:
    id = window.id
    for dead in state.dead:
        if dead.window == id:
            return Delivery(
                status=Arriving.DEAD,
                at=dead.at,
                next_at=dead.attempt.next_at,
                starts=dead.starts,
                message=dead.message,
                stage=dead.stage,
                past=starts(dead.attempt.past),
            )
    if stored.done:
        return arrived(codec.decode_arrival(stored.arrival))
    for parcel in state.outbox:
        if parcel.id == id and sink:
            return waiting(parcel.attempt)
    return Delivery(status=Arriving.LOGGED)
