"""What keeps a deployment from growing without end: the log trimmed, idle scopes forgotten."""

from __future__ import annotations

import logging
from typing import Any

from msgspec import Struct

from attend.app import Attend
from attend.core.state import ScopeState
from attend.errors import AttendError, StateFormatError, StoreCorruptError
from attend.settings import Settings

logger = logging.getLogger("attend")

ROWS_A_CALL = 1000
CALLS_A_ROUND = 200
SCOPES_A_ROUND = 65_536


class Swept(Struct, frozen=True):
    """What one round did away with."""

    rows: int = 0
    scopes: int = 0


async def sweep(app: Attend, settings: Settings) -> Swept:
    """One round. Raises `StoreUnavailableError`; the next one goes on where it stopped."""
    return Swept(rows=await _trim(app, settings), scopes=await _forget(app, settings))


async def upkeep(ctx: dict[Any, Any], *args: Any, **named: Any) -> dict[str, int]:
    """The arq job: one round, its outcome as plain values. What goes wrong is logged and left to the next one."""
    app: Attend = ctx["attend"]
    settings: Settings = ctx["settings"]
    try:
        swept = await sweep(app, settings)
    except AttendError as error:
        logger.warning("upkeep: %s", error)
        return {}
    return {"rows": swept.rows, "scopes": swept.scopes}


async def _trim(app: Attend, settings: Settings) -> int:
    oldest_at = app.clock.now() - settings.retain.ms
    # News and conditions are kept for as long as decisions are.
    for _ in range(CALLS_A_ROUND):
        if await app.store.news.trim(settings.retain.rows, oldest_at, ROWS_A_CALL) < ROWS_A_CALL:
            break
    await app.store.news.expire(oldest_at)
    trimmed = 0
    for _ in range(CALLS_A_ROUND):
        rows = await app.store.log.trim(settings.retain.rows, oldest_at, ROWS_A_CALL)
        trimmed += rows
        if rows < ROWS_A_CALL:
            break
    return trimmed


async def _forget(app: Attend, settings: Settings) -> int:
    before = app.clock.now() - settings.forget_ms
    forgotten, limit = 0, 256
    while limit <= SCOPES_A_ROUND:
        scopes = await app.store.idle(before, limit)
        gone = 0
        for scope in scopes:
            try:
                stored = await app.engine.stored(scope)
            except (StateFormatError, StoreCorruptError) as error:
                # It stays: a newer attend may know it. Those behind it are seen to.
                logger.debug("upkeep: %s", error)
                continue
            if stored.lost or is_at_rest(stored.state):
                gone += await app.store.remove(scope, stored.version)
        forgotten += gone
        if len(scopes) < limit:
            break
        # Those that stay are the oldest, and would hide the ones behind them.
        limit = limit if gone > limit // 2 else limit * 4
    return forgotten


def is_at_rest(state: ScopeState) -> bool:
    """Whether nothing would be missed: nothing judged, held or to be handed over, no act open, no source read."""
    return (
        state.slot is None
        and state.held is None
        and state.forced is None
        and state.open.acts == 0
        and not state.outbox
        and not state.dead
        and not state.again
        and not state.cursors
    )
