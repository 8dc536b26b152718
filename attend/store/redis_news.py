"""The attention feed in Redis: a log like that of decisions, and a hash of what is open."""

from __future__ import annotations

from attend.store.keys import NewsKeys
from attend.store.redis_link import Link
from attend.store.redis_log import RedisLog

_SOME = 500
"""Conditions looked at in one call."""


class RedisNews(RedisLog):
    """The feed of a prefix. An open condition is kept as `<at> <row>`, `at` when it was opened."""

    def __init__(self, link: Link, keys: NewsKeys) -> None:
        super().__init__(link, keys)
        self._open_key = keys.open

    async def conditions(self) -> list[bytes]:
        """The row of each condition that is open, the longest open first."""
        found: list[bytes] = await self._link.call("HVALS", self._open_key)
        return [row for _, row in sorted((_opened(each) for each in found), key=lambda each: each[0])]

    async def expire(self, oldest_at: int) -> int:
        """Let go of conditions opened before an instant."""
        gone, cursor = 0, 0
        while True:
            next_cursor, found = await self._link.call("HSCAN", self._open_key, cursor, "COUNT", _SOME)
            old = [name for name, each in _pairs(found) if _opened(each)[0] < oldest_at]
            if old:
                gone += await self._link.call("HDEL", self._open_key, *old)
            cursor = int(next_cursor)
            if not cursor:
                return gone


def _pairs(found: dict[bytes, bytes] | list[bytes]) -> list[tuple[bytes, bytes]]:
    """What HSCAN found, as the client gives it."""
    if isinstance(found, dict):
        return list(found.items())
    return list(zip(found[::2], found[1::2], strict=True))


def _opened(stored: bytes) -> tuple[int, bytes]:
    at, _, row = stored.partition(b" ")
    return (int(at) if at.isdigit() else 0), row
