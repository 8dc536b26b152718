"""A log of events in Redis or Valkey: a stream for each scope, for producers in other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attend.core.event import NewEvent
from attend.errors import ConfigError
from attend.eventlog.base import EventPage
from attend.eventlog.positioned import RETAIN, entries_of, read_page, trim_all
from attend.store.keys import Keys
from attend.store.redis_link import Link
from attend.store.redis_log import RedisLog, new_epoch


class RedisEventLog:
    """See `redis_log`."""

    def __init__(self, url: str, prefix: str, client: Any, retain: int, timeout_ms: int) -> None:
        if retain < 1:
            raise ConfigError(f"retain is {retain}, it must be 1 or more")
        self._keys = Keys(prefix)
        self._link = Link(url, client, timeout_ms, 32)
        self._retain = retain

    @property
    def can_block(self) -> bool:
        """It can."""
        return True

    async def append(self, scope: str, events: Iterable[NewEvent | Mapping[str, Any]]) -> None:
        """Add events, all or none."""
        entries = entries_of(scope, events)
        if entries:
            keys = self._keys.events(scope)
            await self._link.run("append", [keys.meta, keys.log], [new_epoch(), self._retain, *entries])

    async def read(self, scope: str, cursor: str | None, limit: int, block_ms: int = 0) -> EventPage:
        """Up to `limit` events after a cursor."""
        return await read_page(self._log(scope), cursor, limit, block_ms)

    async def trim(self, scope: str, max_events: int, oldest_at: int = 0) -> int:
        """Delete the oldest events past a count or an age."""
        return await trim_all(self._log(scope), max_events, oldest_at)

    async def close(self) -> None:
        """Close every connection that is not the caller's."""
        await self._link.close()

    def _log(self, scope: str) -> RedisLog:
        return RedisLog(self._link, self._keys.events(scope))


def redis_log(
    url: str = "",
    *,
    prefix: str = "default",
    client: Any = None,
    retain: int = RETAIN,
    timeout_ms: int = 5000,
) -> RedisEventLog:
    """A log in Redis 6.2 or Valkey 7.2, or later, that keeps the newest `retain` events of each scope.

    It may share a server, and a prefix, with a store. `url`, `client` and `timeout_ms` are as for `RedisStore`. What
    is appended is as durable as the server's persistence. Raises `ConfigError`.
    """
    return RedisEventLog(url, prefix, client, retain, timeout_ms)
