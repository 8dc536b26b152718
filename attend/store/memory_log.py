"""The decision log of the memory store, and its windows."""

from __future__ import annotations

import asyncio
import secrets

from msgspec import Struct, field

from attend.store.base import Dropped, Kept, LogRow, Page, Position, Row, StoredWindow


class _Window(Struct):
    """A window as kept; `row` is where its decision was logged. A `held` one outlives its row, then `trimmed`."""

    window: bytes
    row: LogRow | None = None
    held: bool = False
    done: bool = False
    arrival: bytes = b""
    trimmed: bool = False
    taken: dict[str, int] = field(default_factory=dict[str, int])


class MemoryLog:
    """The log in a list: `_rows[i]` has the number `_trimmed + 1 + i`."""

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(8)
        self._secret = secrets.token_bytes(32)
        self._rows: list[tuple[str, LogRow]] = []
        self._trimmed = 0
        self._last = (0, 0)
        self._windows: dict[str, _Window] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def _n(self) -> int:
        return self._trimmed + len(self._rows)

    def record(
        self, at: int, rows: tuple[Row, ...], keep: tuple[Kept, ...], drop: tuple[Dropped, ...]
    ) -> None:
        """What one write has for the log: first the windows it lets go of, then rows, then windows without one."""
        for dropped in drop:
            self._drop(dropped)
        for row in rows:
            stored = self._windows.setdefault(row.id, _Window(row.window))
            if row.held:
                stored.held = True
            if stored.row is None:
                stored.row = LogRow(Position(self._epoch, self._n + 1, self._next_id(at)), row.summary)
                self._rows.append((row.id, stored.row))
        for kept in keep:
            self._windows.setdefault(kept.id, _Window(kept.window)).held = True
        if rows:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)

    def _drop(self, dropped: Dropped) -> None:
        stored = self._windows.get(dropped.id)
        if stored is None:
            return
        stored.held = False
        if dropped.done:
            stored.done, stored.arrival = True, dropped.arrival
        if stored.trimmed or stored.row is None:
            del self._windows[dropped.id]

    def _next_id(self, at: int) -> str:
        ms, seq = self._last
        self._last = (at, 0) if at > ms else (ms, seq + 1)
        return f"{self._last[0]}-{self._last[1]}"

    def window(self, window_id: str) -> StoredWindow | None:
        """A window by its id."""
        stored = self._windows.get(window_id)
        if stored is None:
            return None
        summary = None if stored.row is None else stored.row.summary
        return StoredWindow(stored.window, summary, stored.done, stored.arrival)

    async def end(self) -> Position:
        """The position after the newest row."""
        return self._rows[-1][1].position if self._rows else Position(self._epoch, self._n)

    async def start(self) -> Position:
        """The position before the oldest row kept."""
        return Position(self._epoch, self._trimmed)

    async def read(self, after: Position, limit: int) -> Page:
        """Up to `limit` rows after a position."""
        truncated = not self._fits(after)
        first = 0 if truncated else after.n - self._trimmed
        rows = tuple(row for _, row in self._rows[first : first + limit])
        came_to = await self.start() if truncated else after
        position = rows[-1].position if rows else came_to
        return Page(rows, position, truncated, first + len(rows) < len(self._rows))

    def _fits(self, after: Position) -> bool:
        """Whether nothing after this position is gone, and it is one that this log gave."""
        if after.epoch != self._epoch or not self._trimmed <= after.n <= self._n:
            return False
        return after.n == self._trimmed or self._rows[after.n - self._trimmed - 1][1].position == after

    async def wait(self, after: Position, timeout_ms: int) -> bool:
        """Whether a row after the position was there, or came within the time."""
        if after.epoch != self._epoch or after.n != self._n:
            return True
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait({waiting}, timeout=timeout_ms / 1000)
        finally:
            self._waiting.discard(waiting)
        return after.n != self._n

    async def find(self, decision_id: str) -> Position | None:
        """Where a decision's row is, or was."""
        stored = self._windows.get(decision_id)
        return None if stored is None or stored.row is None else stored.row.position

    async def before(self, at: int) -> Position:
        """The position that the rows logged at or after an instant come after."""
        for _, row in reversed(self._rows):
            if int(row.position.id.partition("-")[0]) < at:
                return row.position
        return await self.start()

    async def secret(self) -> bytes:
        """What cursors are sealed with."""
        return self._secret

    def take(self, decision_id: str, principal: str, at: int) -> int | None:
        """See `Records.acknowledge`."""
        stored = self._windows.get(decision_id)
        if stored is None or stored.row is None or stored.trimmed:
            return None
        return stored.taken.setdefault(principal, at)

    def is_taken(self, decision_id: str) -> bool:
        """Whether anybody took a decision."""
        stored = self._windows.get(decision_id)
        return stored is not None and bool(stored.taken)

    async def trim(self, max_rows: int, oldest_at: int, limit: int = 1000) -> int:
        """Delete the oldest rows past a count or an age, with windows no lane refers to."""
        count = 0
        while count < min(limit, len(self._rows)):
            logged_at = int(self._rows[count][1].position.id.partition("-")[0])
            if len(self._rows) - count <= max_rows and logged_at >= oldest_at:
                break
            count += 1
        for window_id, _ in self._rows[:count]:
            stored = self._windows[window_id]
            if stored.held:
                stored.trimmed = True
            else:
                del self._windows[window_id]
        del self._rows[:count]
        self._trimmed += count
        return count
