"""The decision log in Redis: a stream whose rows carry a dense counter.

The counter is what a gap is known by: a stream may lose rows at any place, by hand or in a failover, and says
nothing.
"""

from __future__ import annotations

import re
import secrets

from msgspec import Struct

from attend.store.base import LogRow, Page, Position
from attend.store.keys import LogKeys
from attend.store.redis_link import Link

TRIM_ROWS = 100
"""Rows that one call of `trim` deletes, so that it holds the server for a moment only."""

_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
_FIRST = "0-0"


class _Meta(Struct, frozen=True):
    """The log as a whole: its epoch, the numbers of its newest row and of the newest one trimmed, its length."""

    epoch: str
    n: int
    trimmed: int
    length: int


class _Found(Struct, frozen=True):
    """What a range of the stream holds: attend's rows, their windows' ids, and the first and last id of all in it."""

    rows: list[LogRow]
    windows: list[str]
    first: str | None
    last: str | None
    full: bool


class RedisLog:
    """One log: the decisions of a prefix, or a scope's events in front of attend."""

    def __init__(self, link: Link, keys: LogKeys) -> None:
        self._link = link
        self._keys = keys

    async def _range(self, start: str, count: int) -> tuple[_Meta, _Found]:
        """Up to `count` entries from a stream id on, with the log as a whole at the same moment."""
        epoch, n, trimmed, length, entries = await self._link.run(
            "read", [self._keys.meta, self._keys.log], [new_epoch(), start, count]
        )
        meta = _Meta(epoch.decode(), int(n), int(trimmed), length)
        rows: list[LogRow] = []
        windows: list[str] = []
        for entry_id, pairs in entries:
            fields: dict[bytes, bytes] = dict(zip(pairs[::2], pairs[1::2], strict=True))
            # An entry that somebody else added is no row, and is passed over.
            if fields.get(b"n", b"").isdigit() and b"d" in fields:
                rows.append(LogRow(Position(meta.epoch, int(fields[b"n"]), entry_id.decode()), fields[b"d"]))
                windows.append(fields.get(b"w", b"").decode())
        first, last = (entries[0][0].decode(), entries[-1][0].decode()) if entries else (None, None)
        return meta, _Found(rows, windows, first, last, len(entries) == count)

    async def end(self) -> Position:
        """The position after the newest row."""
        meta, found = await self._range("+", 1)
        if found.rows and found.rows[0].position.n == meta.n:
            return found.rows[0].position
        return Position(meta.epoch, meta.n, found.last or _FIRST)

    async def start(self) -> Position:
        """The position before the oldest row kept."""
        meta, found = await self._range("-", 1)
        return Position(meta.epoch, found.rows[0].position.n - 1 if found.rows else meta.n)

    async def read(self, after: Position, limit: int) -> Page:
        """Up to `limit` rows after a position, oldest first; one round trip where nothing is truncated.

        Where the counter jumps inside a page, the page ends before the jump and the next one is truncated. Where
        entries that hold no row stand after the last row, or the newest rows are gone, the position has the id of
        the last entry there is and the counter of the newest row there was.
        """
        if not _ID.fullmatch(after.id):
            return await self._from_oldest(limit)
        tied = after.id != _FIRST
        # Its own row comes along, and one more tells whether there are more.
        meta, found = await self._range(after.id if tied else "-", limit + 2)
        rows = found.rows
        if meta.epoch != after.epoch or not 0 <= after.n <= meta.n:
            return await self._from_oldest(limit)
        met = tied and found.first == after.id
        if met and rows and rows[0].position.id == after.id:
            met = rows[0].position.n <= after.n
            rows = rows[1:]
        if tied and not met and after.n > meta.trimmed:
            return await self._from_oldest(limit)
        if rows:
            first = rows[0].position.n
            if first <= after.n and not met:
                return await self._from_oldest(limit)
            return _page(found, rows, limit, truncated=first != after.n + 1)
        if found.full:
            return Page((), Position(after.epoch, after.n, found.last or _FIRST), False, True)
        if meta.n == after.n:
            return Page((), after, False, False)
        if met:
            return Page((), Position(after.epoch, meta.n, found.last or _FIRST), True, False)
        return await self._from_oldest(limit)

    async def _from_oldest(self, limit: int) -> Page:
        meta, found = await self._range("-", limit + 1)
        if found.rows:
            return _page(found, found.rows, limit, truncated=True)
        return Page((), Position(meta.epoch, meta.n, found.last or _FIRST), True, found.full)

    async def wait(self, after: Position, timeout_ms: int) -> bool:
        """Whether there is something to read, now or within the time."""
        if not _ID.fullmatch(after.id) or await self._moved(after):
            return True
        block_ms = max(1, timeout_ms)
        await self._link.block(
            block_ms, "XREAD", "COUNT", 1, "BLOCK", block_ms, "STREAMS", self._keys.log, after.id
        )
        return await self._moved(after)

    async def _moved(self, after: Position) -> bool:
        epoch, n = await self._link.call("HMGET", self._keys.meta, "epoch", "n")
        return epoch is None or epoch.decode() != after.epoch or int(n or 0) != after.n

    async def find(self, decision_id: str) -> Position | None:
        """Where a decision's row is, or was."""
        n, row_id = await self._link.call("HMGET", self._keys.window(decision_id), "n", "id")
        if n is None or row_id is None:
            return None
        epoch = await self._link.call("HGET", self._keys.meta, "epoch")
        return None if epoch is None else Position(epoch.decode(), int(n), row_id.decode())

    async def before(self, at: int) -> Position:
        """The position that the rows logged at or after an instant come after."""
        meta, _ = await self._range("+", 1)
        found: list[tuple[bytes, dict[bytes, bytes] | None]] = await self._link.call(
            "XREVRANGE", self._keys.log, f"({max(at, 1)}-0", "-", "COUNT", 1
        )
        n = (found[0][1] or {}).get(b"n", b"") if found else b""
        return Position(meta.epoch, int(n), found[0][0].decode()) if n.isdigit() else await self.start()

    async def secret(self) -> bytes:
        """What cursors are sealed with."""
        stored: bytes | None = await self._link.call("HGET", self._keys.meta, "secret")
        if stored is None:
            await self._link.call("HSETNX", self._keys.meta, "secret", secrets.token_hex(32))
            stored = await self._link.call("HGET", self._keys.meta, "secret")
        return stored or b""

    async def trim(self, max_rows: int, oldest_at: int, limit: int = 1000) -> int:
        """Delete the oldest rows past a count or an age, with windows no lane refers to."""
        trimmed = 0
        while trimmed < limit:
            some = min(TRIM_ROWS, limit - trimmed)
            count = await self._trim(max_rows, oldest_at, some)
            trimmed += count
            if count < some:
                break
        return trimmed

    async def _trim(self, max_rows: int, oldest_at: int, limit: int) -> int:
        meta, found = await self._range("-", limit)
        old = [
            (row, window)
            for place, (row, window) in enumerate(zip(found.rows, found.windows, strict=True))
            if meta.length - place > max_rows or int(row.position.id.partition("-")[0]) < oldest_at
        ]
        if not old:
            return 0
        keys = [self._keys.meta, self._keys.log, *(self._keys.window(window) for _, window in old)]
        ids = [row.position.id for row, _ in old]
        done = await self._link.run("trim", keys, [meta.epoch, meta.trimmed, old[-1][0].position.n, *ids])
        return len(old) if done else 0


def _page(found: _Found, rows: list[LogRow], limit: int, *, truncated: bool) -> Page:
    """The rows up to the limit, or to where the counter jumps; with them, what else stands after them."""
    count = 1
    while count < min(limit, len(rows)) and rows[count].position.n == rows[count - 1].position.n + 1:
        count += 1
    here = rows[:count]
    position = here[-1].position
    more = count < len(rows) or found.full
    if not more:
        position = Position(position.epoch, position.n, found.last or position.id)
    return Page(tuple(here), position, truncated, more)


def new_epoch() -> str:
    """An epoch that no log has had."""
    return secrets.token_hex(8)
