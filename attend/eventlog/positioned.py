"""A log of events on any log that numbers its rows: what the memory and the Redis one have in common."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from attend.core.event import NewEvent, check_scope
from attend.cursor import decode_cursor, encode_cursor
from attend.eventlog.base import EventPage
from attend.store.base import DecisionLog, LogRow, Page, Position

RETAIN = 100_000
"""How many events of a scope are kept."""

_TRIM_AT_ONCE = 1000
_NOWHERE = Position("")
_decoder = msgspec.msgpack.Decoder(NewEvent)


def entries_of(scope: str, events: Iterable[NewEvent | Mapping[str, Any]]) -> list[bytes]:
    """Events as they are stored, each with an id and an `at`. Raises `EventError`."""
    check_scope(scope)
    now = int(time.time() * 1000)
    entries: list[bytes] = []
    for given in events:
        event = given if isinstance(given, NewEvent) else NewEvent.of(given)
        whole = msgspec.structs.replace(
            event,
            id=secrets.token_hex(12) if event.id is None else event.id,
            at=now if event.at is None else event.at,
        )
        entries.append(msgspec.msgpack.encode(whole))
    return entries


async def read_page(log: DecisionLog, cursor: str | None, limit: int, block_ms: int) -> EventPage:
    """What `EventLog.read` says of a log with numbered rows."""
    after = await log.start() if cursor is None else decode_cursor(cursor) or _NOWHERE
    page = await log.read(after, limit)
    if not page.rows and not page.truncated and block_ms > 0:
        await log.wait(page.position, block_ms)
        page = await log.read(page.position, limit)
    return _events(page)


async def trim_all(log: DecisionLog, max_events: int, oldest_at: int) -> int:
    """Delete the oldest rows past a count or an age, however many; how many there were."""
    trimmed = 0
    while count := await log.trim(max_events, oldest_at, _TRIM_AT_ONCE):
        trimmed += count
    return trimmed


def _events(page: Page) -> EventPage:
    """A page of rows as events. One that cannot be read is left out, and makes a gap."""
    events = [_event(row) for row in page.rows]
    return EventPage(
        tuple(event for event in events if event is not None),
        encode_cursor(page.position),
        page.truncated or None in events,
        page.more,
    )


def _event(row: LogRow) -> NewEvent | None:
    try:
        return _decoder.decode(row.summary)
    except msgspec.MsgspecError:
        return None
