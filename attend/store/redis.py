"""The store in Redis or Valkey, one server or a failover pair: what many processes share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from attend.core.types import Lane
from attend.errors import ConfigError, StateFormatError
from attend.store.base import Claimed, Loaded, Outcome, StoredWindow, Write
from attend.store.keys import Keys
from attend.store.news_log import MAX_OPEN
from attend.store.redis_link import Link
from attend.store.redis_log import RedisLog, new_epoch
from attend.store.redis_news import RedisNews
from attend.store.redis_records import RedisRecords
from attend.store.redis_sleep import Sleepers
from attend.store.redis_subscriptions import RedisSubscriptions

FORMAT = 1
"""How the keys are laid out. A store of a higher one was written by a newer attend and is refused."""

GROUP_BYTES = 1024 * 1024
GROUP_WRITES = 256
"""What one call of `commit` carries at most, unless one write alone is more."""

LOAD_SCOPES = 64
"""Scopes that one call of `load` asks for: each may be a whole snapshot."""

DONE = b"1"
"""What is kept of an arrival that nothing was told of."""

_OUTCOMES = {1: Outcome.OK, 2: Outcome.CONFLICT, 3: Outcome.LOST, 4: Outcome.BAD}
_logger = logging.getLogger("attend.store")


class RedisStore:
    """Scopes, due instants and the log under one prefix of a Redis or Valkey server.

    `url` is `redis://`, `rediss://` or `unix://`. A command has `timeout_ms` to connect and as much to answer. A
    `client` of redis-py's asyncio kind, or one like it, replaces the URL; closing the store leaves it open.
    Raises `ConfigError` for a URL or a prefix that cannot be used.
    """

    def __init__(
        self,
        url: str = "",
        *,
        prefix: str = "default",
        client: Any = None,
        timeout_ms: int = 5000,
        max_connections: int = 32,
    ) -> None:
        self._keys = Keys(prefix)
        self._link = Link(url, client, timeout_ms, max_connections)
        self._own = client is None
        self._log = RedisLog(self._link, self._keys)
        self._news = RedisNews(self._link, self._keys.news)
        self._records = RedisRecords(self._link, self._keys)
        self._subscriptions = RedisSubscriptions(self._link, self._keys)
        self._sleepers = Sleepers(self._link, self._keys)
        self._opened = False

    @property
    def log(self) -> RedisLog:
        """The decision log that `commit` writes."""
        return self._log

    @property
    def news(self) -> RedisNews:
        """The attention feed that `commit` writes."""
        return self._news

    @property
    def records(self) -> RedisRecords:
        """What is on record beside the log."""
        return self._records

    @property
    def subscriptions(self) -> RedisSubscriptions:
        """Webhook subscriptions."""
        return self._subscriptions

    async def open(self) -> None:
        """Connect, check the server and what it holds, load the scripts. Idempotent.

        Raises `ConfigError` for a server that is too old and `StateFormatError` for what a newer attend wrote.
        """
        if self._opened:
            return
        await self._link.call("PING")
        if self._own:
            _check_server(await self._link.call("INFO"))
        written = await self._link.call("HGET", self._keys.meta, "format")
        if written is not None and int(written) > FORMAT:
            raise StateFormatError(f"the store has format {int(written)}, this attend reads up to {FORMAT}")
        await self._link.load_scripts()
        for log in (self._log, self._news):
            await log.end()  # which gives the log its epoch
            await log.secret()
        self._opened = True

    async def close(self) -> None:
        """Let go of connections. Nothing stored is touched."""
        await self._sleepers.close()
        await self._link.close()
        self._opened = False

    async def server_now(self) -> int:
        """The server's clock, in milliseconds."""
        seconds, micros = await self._link.call("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    async def commit(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply a group of writes, at most one a scope, in calls that each hold the server for a moment only."""
        outcomes: list[Outcome] = []
        for group in _groups(writes):
            keys, arguments = self._commit_call(group)
            found = await self._link.run("commit", keys, arguments)
            outcomes += [_OUTCOMES[outcome] for outcome in found]
        return outcomes

    def _commit_call(self, writes: Sequence[Write]) -> tuple[list[Any], list[Any]]:
        """The keys and arguments of `commit.lua` for a group."""
        names = self._keys
        keys: list[Any] = [names.meta, names.log, names.scopes, *names.dues, *names.wakes, names.dead]
        keys += (names.news.meta, names.news.log, names.news.open)
        arguments: list[Any] = [new_epoch(), MAX_OPEN]
        for write in writes:
            keys += (names.scope(write.scope), names.tail(write.scope))
            keys += [names.window(row.id) for row in write.rows]
            keys += [names.window(kept.id) for kept in write.keep]
            keys += [names.window(dropped.id) for dropped in write.drop]
            mode = "restart" if write.restart else "entry" if write.snapshot is None else "snapshot"
            payload = write.entry if write.snapshot is None else write.snapshot
            arguments += (write.scope, write.expected, write.version, write.at, mode, payload)
            arguments += [_due(write, lane) for lane in Lane]
            arguments.append("" if write.dead is None else write.dead)
            arguments += (len(write.rows), len(write.keep), len(write.drop), len(write.news))
            for row in write.rows:
                arguments += (row.id, row.summary, row.window, int(row.held))
            arguments += [kept.window for kept in write.keep]
            arguments += [(dropped.arrival or DONE) if dropped.done else b"" for dropped in write.drop]
            for each in write.news:
                arguments += (each.condition, each.change or "", each.row)
        return keys, arguments

    async def load(self, scopes: Sequence[tuple[str, str]]) -> list[Loaded]:
        """Each scope, given with the version the caller has, as it is stored now."""
        loaded: list[Loaded] = []
        for start in range(0, len(scopes), LOAD_SCOPES):
            some = scopes[start : start + LOAD_SCOPES]
            keys = [key for scope, _ in some for key in (self._keys.scope(scope), self._keys.tail(scope))]
            found = await self._link.run("load", keys, [have for _, have in some])
            loaded += [_loaded(*one) for one in found]
        return loaded

    async def claim(self, lane: Lane, now: int, n: int, until: int) -> Claimed:
        """Take up to `n` due scopes, earliest first, moving each one's due to `until`."""
        keys = [self._keys.due(lane), self._keys.wake(lane)]
        next_at, *scopes = await self._link.run("claim", keys, [now, n, until])
        return Claimed(tuple(scope.decode() for scope in scopes), int(next_at) if next_at else None)

    async def release(self, lane: Lane, scope: str, version: str, until: int, due_at: int | None) -> bool:
        """Hand a claim back without a commit, where neither the version nor the due changed since."""
        keys = [self._keys.scope(scope), self._keys.due(lane), self._keys.wake(lane)]
        arguments = [scope, version, until, "" if due_at is None else due_at]
        return bool(await self._link.run("release", keys, arguments))

    async def sleep(self, lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        """Wait for a wake token on any of the lanes and take it; cancelling it loses no token."""
        return await self._sleepers.sleep(lanes, timeout_ms)

    async def pass_on(self, lane: Lane) -> None:
        """Put a token back for another sleeper, where none lies there."""
        await self._sleepers.pass_on(lane)

    async def window(self, window_id: str) -> StoredWindow | None:
        """A window by its id."""
        window, summary, done = await self._link.call(
            "HMGET", self._keys.window(window_id), "win", "sum", "done"
        )
        if window is None:
            return None
        return StoredWindow(window, summary, done is not None, b"" if done in (None, DONE) else done)

    async def register(self, digest: str, rules: bytes) -> int:
        """Keep rules by their digest and return their generation."""
        return int(await self._link.run("register", [self._keys.rules], [digest, rules]))

    async def rules(self, digest: str) -> bytes | None:
        """Rules by their digest."""
        found: bytes | None = await self._link.call("HGET", self._keys.rules, f"r:{digest}")
        return found

    async def idle(self, before: int, limit: int) -> list[str]:
        """Up to `limit` scopes whose last commit was before an instant, oldest first."""
        found = await self._link.call(
            "ZRANGEBYSCORE", self._keys.scopes, "-inf", f"({before}", "LIMIT", 0, limit
        )
        return [scope.decode() for scope in found]

    async def dead(self, limit: int, skip: int = 0) -> list[str]:
        """Up to `limit` scopes that have dead letters, after the first `skip`: longest dead first."""
        found = await self._link.call("ZRANGE", self._keys.dead, skip, skip + limit - 1) if limit > 0 else ()
        return [scope.decode() for scope in found]

    async def hold(self, name: str, holder: str, ms: int) -> bool:
        """Whether this holder has, or has taken, what one at a time may have, for so long from now."""
        key, mine = self._keys.holder(name), holder.encode()
        if await self._link.call("SET", key, mine, "NX", "PX", ms):
            return True
        if await self._link.call("GET", key) != mine:
            return False
        # Where it ran out just now and another took it, that one has it a little longer; nothing else.
        return bool(await self._link.call("PEXPIRE", key, ms))

    async def let_go(self, name: str, holder: str) -> None:
        """Hold it no more."""
        key = self._keys.holder(name)
        if await self._link.call("GET", key) == holder.encode():
            await self._link.call("DEL", key)

    async def remove(self, scope: str, version: str | None = None) -> bool:
        """Forget a scope, where its version still is the one given."""
        names = self._keys
        keys = [names.scope(scope), names.tail(scope), names.scopes, *names.dues, names.dead]
        return bool(await self._link.run("remove", keys, [scope, "*" if version is None else version]))


def _groups(writes: Sequence[Write]) -> Iterator[list[Write]]:
    group: list[Write] = []
    size = 0
    for write in writes:
        if group and (size + write.size > GROUP_BYTES or len(group) == GROUP_WRITES):
            yield group
            group, size = [], 0
        group.append(write)
        size += write.size
    if group:
        yield group


def _due(write: Write, lane: Lane) -> int | str:
    if lane not in write.due:
        return ""
    due_at = write.due[lane]
    return "-" if due_at is None else due_at


def _loaded(outcome: int, version: bytes, whole: int, snapshot: bytes, tail: list[bytes]) -> Loaded:
    """One scope of `load.lua`'s answer; a tail entry has its version in front."""
    entries = tuple(entry.partition(b" ")[2] for entry in tail)
    return Loaded(_OUTCOMES[outcome], version.decode(), snapshot if whole else None, entries)


def _check_server(info: dict[str, Any]) -> None:
    version = str(info.get("redis_version", ""))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers and numbers < (6, 2):
        raise ConfigError(f"the Redis server has version {version}, attend needs 6.2 or later, or Valkey")
    if info.get("cluster_enabled"):
        _logger.warning(
            "the Redis server is a cluster node: attend is made for one server or a failover pair"
        )
    policy = str(info.get("maxmemory_policy", "noeviction"))
    # Without a maxmemory nothing is evicted yet, but a server shared with a cache will have one some day.
    if policy.startswith("allkeys") or (info.get("maxmemory") and policy != "noeviction"):
        _logger.warning(
            "the Redis server evicts keys when it is full (maxmemory-policy %s): scopes will be lost; "
            "set it to noeviction",
            policy,
        )
