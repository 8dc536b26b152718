"""The subscriptions in Redis: hashes with a field for each, and a due set of their own."""

from __future__ import annotations

from collections.abc import Sequence

from attend.store.keys import Keys
from attend.store.redis_link import Link
from attend.store.subscriptions import Change, Due, Kept, Outcome, Wants

_OUTCOMES = (Outcome.OK, Outcome.CONFLICT, Outcome.EACH, Outcome.TOTAL)
_N = b"n"
"""The field beside the subscriptions' own that counts changes. No id is that short."""


class RedisSubscriptions:
    """The subscriptions of one prefix."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys.subscriptions

    async def get(self, id: str) -> Kept | None:
        """One of them."""
        found: bytes | None = await self._link.call("HGET", self._keys.kept, id)
        if found is None:
            return None
        version, _, record = found.partition(b" ")
        return Kept(version.decode(), record)

    async def put(self, change: Change, each: int, total: int) -> Outcome:
        """Apply a change, a new one within the bounds only."""
        due = "keep" if not change.due else "" if change.due_at is None else change.due_at
        arguments: list[object] = [change.id, change.expected, change.version, change.record, change.wants]
        arguments += [change.owner, each, total, due, int(change.idle), change.at]
        return _OUTCOMES[int(await self._link.run("keep", self._keys.all, arguments))]

    async def drop(self, id: str, expected: str, owner: str) -> bool:
        """Forget one, where its version is the one given; whether it was."""
        return bool(await self._link.run("dismiss", self._keys.all, [id, expected, owner]))

    async def claim(self, now: int, n: int, until: int) -> Due:
        """Take up to `n` that are due, earliest first, moving each one's due to `until`."""
        keys = [self._keys.due, self._keys.idle, self._keys.more]
        next_at, *ids = await self._link.run("take", keys, [now, n, until])
        return Due(tuple(id.decode() for id in ids), int(next_at) if next_at else None)

    async def rouse(self, ids: Sequence[str], now: int) -> None:
        """Make due now those of them that are idle; the others will be once they become so."""
        keys = [self._keys.due, self._keys.idle, self._keys.more, self._keys.kept]
        for start in range(0, len(ids), 500):
            await self._link.run("rouse", keys, [now, *ids[start : start + 500]])

    async def wants(self, n: int) -> Wants | None:
        """What all of them want, or None where it still has the number `n`."""
        if int(await self._link.call("HGET", self._keys.wants, _N) or 0) == n:
            return None
        found: dict[bytes, bytes] = await self._link.call("HGETALL", self._keys.wants)
        counted = int(found.pop(_N, 0))
        return Wants(counted, {id.decode(): wants for id, wants in found.items()})

    async def verified(self, name: str, now: int) -> bool:
        """Whether a name was kept as verified."""
        return bool(await self._link.call("EXISTS", self._keys.verified(name)))

    async def verify(self, name: str, now: int, for_ms: int) -> None:
        """Keep a name as verified for a while."""
        await self._link.call("SET", self._keys.verified(name), "1", "PX", for_ms)
