"""A log of events as a source: read into a scope, its cursor committed with the events."""

from __future__ import annotations

from attend.clock import Clock, SystemClock
from attend.eventlog.base import EventLog
from attend.source import Emit

PAGE = 250
BLOCK_MS = 5000
POLL_MS = 1000


class LogSource:
    """See `log_source`."""

    def __init__(self, log: EventLog, scope: str, key: str, clock: Clock, limit: int, poll_ms: int) -> None:
        self._log = log
        self._scope = scope
        self._key = key
        self._clock = clock
        self._limit = limit
        self._poll_ms = poll_ms
        # A log waits in the machine's time; on any other clock it is asked again and again.
        self._block_ms = BLOCK_MS if log.can_block and isinstance(clock, SystemClock) else 0

    @property
    def key(self) -> str:
        """What its cursor is kept under."""
        return self._key

    async def run(self, cursor: str | None, emit: Emit) -> None:
        """Read on from the cursor, and on."""
        while True:
            page = await self._log.read(self._scope, cursor, self._limit, self._block_ms)
            if page.events or page.gap:
                await emit(page.events, page.cursor, gap=page.gap)
            elif not page.more and not self._block_ms:
                await self._clock.sleep(self._poll_ms)
            cursor = page.cursor


def log_source(
    log: EventLog,
    scope: str,
    *,
    key: str = "log",
    clock: Clock | None = None,
    limit: int = PAGE,
    poll_ms: int = POLL_MS,
) -> LogSource:
    """What producers append to a scope of the log, for `app.attach(scope, ...)`.

    Up to `limit` events come in one commit, and the cursor behind them with it: after a crash the source goes on
    where the scope stands. Where events were trimmed before they were read the scope's next window says `gap`. With
    a log that cannot block, or on a clock that is not the machine's, it looks every `poll_ms`. `key` names the
    cursor: another one for each log that is attached to the scope.
    """
    return LogSource(log, scope, key, clock or SystemClock(), limit, poll_ms)
