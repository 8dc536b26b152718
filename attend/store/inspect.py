"""A look at a store from the side: the server, and what lies under a prefix. For `attend doctor`, not for the hot path.

Everything is read in small steps (SCAN, ZSCAN), so that a server at work is not held up, and up to a bound.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from msgspec import Struct

from attend.core.types import Lane
from attend.errors import StoreUnavailableError
from attend.store.keys import Keys
from attend.store.redis_link import Link

STEP = 500
"""Keys or members that one step asks for, about."""


class ServerFacts(Struct, frozen=True, kw_only=True):
    """What a server says of itself. None for what it does not tell, as a hosted one may not."""

    product: str
    version: str
    role: str
    cluster: bool
    aof: bool
    fsync: str | None
    save: str | None
    writes_ok: bool
    max_memory: int
    used_memory: int
    policy: str


class LogFacts(Struct, frozen=True):
    """The log as a whole: rows there are, the number of the newest, and of the newest one trimmed."""

    rows: int
    n: int
    trimmed: int


class WindowFacts(Struct, frozen=True):
    """A stored window: the number and the id of its row, if it ever had one, and whether a lane holds it."""

    id: str
    n: int | None
    row: str | None
    held: bool


class Inspector:
    """Reads one prefix of one server. Raises `ConfigError` for a URL that is none.

    Every method raises `StoreUnavailableError`, or `StoreCorruptError` where a key has another type.
    """

    def __init__(self, url: str, prefix: str, *, timeout_ms: int = 5000) -> None:
        self.keys = Keys(prefix)
        self._link = Link(url, None, timeout_ms, 4)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._link.close()

    async def facts(self) -> ServerFacts:
        """What the server is."""
        info: dict[str, Any] = await self._link.call("INFO")
        valkey = info.get("valkey_version")
        checks = ("aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status")
        return ServerFacts(
            product="Valkey" if valkey else "Redis",
            version=str(valkey or info.get("redis_version", "")),
            role=str(info.get("role", "")),
            cluster=bool(info.get("cluster_enabled")),
            aof=bool(info.get("aof_enabled")),
            fsync=await self._config("appendfsync"),
            save=await self._config("save"),
            writes_ok=all(info.get(check, "ok") == "ok" for check in checks),
            max_memory=int(info.get("maxmemory") or 0),
            used_memory=int(info.get("used_memory") or 0),
            policy=str(info.get("maxmemory_policy", "noeviction")),
        )

    async def _config(self, name: str) -> str | None:
        try:
            found: dict[str, str] = await self._link.call("CONFIG GET", name)
        except StoreUnavailableError:
            return None  # A hosted server forbids it.
        return found.get(name)

    async def clock(self, samples: int = 20) -> tuple[float, float, list[float]]:
        """The server's clock less this one's, how far that may be off, and round trips, all in milliseconds."""
        trips: list[float] = []
        best, offset = float("inf"), 0.0
        for _ in range(samples):
            sent, began = time.time(), time.perf_counter()
            seconds, micros = await self._link.call("TIME")
            trip = (time.perf_counter() - began) * 1000
            trips.append(trip)
            if trip < best:
                best, offset = trip, (int(seconds) + int(micros) / 1e6 - sent) * 1000 - trip / 2
        return offset, best / 2, sorted(trips)

    async def rules(self) -> tuple[int, str | None]:
        """The highest generation of rules, and their digest; 0 and None where none were ever registered."""
        generation, digest = await self._link.call("HMGET", self.keys.rules, "generation", "highest")
        return int(generation or 0), None if digest is None else digest.decode()

    async def log(self) -> LogFacts:
        """The log as a whole."""
        length, (n, trimmed) = await self._link.together(
            ("XLEN", self.keys.log), ("HMGET", self.keys.meta, "n", "trimmed")
        )
        return LogFacts(length, int(n or 0), int(trimmed or 0))

    async def names(self, most: int) -> tuple[set[str], bool]:
        """Scopes of which something is stored, and whether these are all there are."""
        found: set[str] = set()
        for pattern in (self.keys.scope("*"), self.keys.tail("*")):
            start = len(pattern) - 1
            async for page in self._scan(pattern):
                found.update(key[start:].decode(errors="surrogateescape") for key in page)
                if len(found) > most:
                    return found, False
        return found, True

    async def members(self, key: str, most: int) -> dict[str, float]:
        """Members of a sorted set, with their scores."""
        found: dict[str, float] = {}
        cursor: Any = 0
        while True:
            cursor, page = await self._link.call("ZSCAN", key, cursor, "COUNT", STEP)
            found.update((member.decode(errors="surrogateescape"), score) for member, score in page)
            if not int(cursor) or len(found) > most:
                return found

    async def scores(self, key: str, names: Sequence[str]) -> dict[str, float]:
        """The scores of some members of a sorted set, those that are in it."""
        found: dict[str, float] = {}
        for some in _pages(names):
            scores = await self._link.together(*(("ZSCORE", key, name) for name in some))
            found.update((name, score) for name, score in zip(some, scores, strict=True) if score is not None)
        return found

    async def windows(self) -> AsyncGenerator[list[WindowFacts]]:
        """All stored windows, a page at a time."""
        pattern = self.keys.window("*")
        async for page in self._scan(pattern):
            yield await self.windows_of([key[len(pattern) - 1 :].decode() for key in page])

    async def windows_of(self, ids: Sequence[str]) -> list[WindowFacts]:
        """Some windows, those that are there."""
        found: list[WindowFacts] = []
        for some in _pages(ids):
            commands = [("HMGET", self.keys.window(id), "n", "id", "held") for id in some]
            exist = [("EXISTS", self.keys.window(id)) for id in some]
            answers = await self._link.together(*commands, *exist)
            for id, (n, row, held), there in zip(
                some, answers[: len(some)], answers[len(some) :], strict=True
            ):
                if there:
                    found.append(
                        WindowFacts(
                            id,
                            None if n is None else int(n),
                            None if row is None else row.decode(),
                            held is not None,
                        )
                    )
        return found

    async def has_row(self, row: str) -> bool:
        """Whether the log has a row of this stream id."""
        return bool(await self._link.call("XRANGE", self.keys.log, row, row, "COUNT", 1))

    async def _scan(self, pattern: str) -> AsyncGenerator[list[bytes]]:
        cursor: Any = 0
        while True:
            cursor, page = await self._link.call("SCAN", cursor, "MATCH", pattern, "COUNT", STEP)
            if page:
                yield page
            if not int(cursor):
                return

    async def list_scope(self, scope: str, at: int) -> None:
        """Repair: put a scope on the list of all, where it is not."""
        await self._link.call("ZADD", self.keys.scopes, "NX", at, scope)

    async def set_due(self, lane: Lane, scope: str, at: int) -> None:
        """Repair: make a scope due in a lane, where it has no entry. A worker that finds nothing to do takes it out."""
        await self._link.call("ZADD", self.keys.due(lane), "NX", at, scope)

    async def drop_window(self, window: WindowFacts, *, in_log: bool) -> None:
        """Repair: delete a window that nothing refers to; one that the log refers to is only let go of."""
        key = self.keys.window(window.id)
        await self._link.call(*(("HDEL", key, "held") if in_log else ("DEL", key)))

    async def clear(self, scope: str, window_id: str) -> None:
        """Delete everything under the prefix, which held one scope and one window."""
        keys, news = self.keys, self.keys.news
        own = (keys.scope(scope), keys.tail(scope), keys.window(window_id))
        shared = (keys.scopes, keys.dead, keys.log, keys.meta, keys.rules, *keys.dues, *keys.wakes)
        await self._link.call("DEL", *own, *shared, news.meta, news.log, news.open)


def _pages(names: Sequence[str]) -> Iterable[Sequence[str]]:
    return (names[start : start + STEP] for start in range(0, len(names), STEP))
