"""The subscriptions of the memory store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attend.store.due_set import DueSet
from attend.store.subscriptions import Change, Due, Kept, Outcome, Wants


class MemorySubscriptions:
    """Subscriptions in dicts. No method suspends."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._wants: dict[str, bytes] = {}
        self._n = 0
        self._count: Counter[str] = Counter()
        self._due = DueSet()
        self._idle: set[str] = set()
        self._more: set[str] = set()
        self._verified: dict[str, int] = {}

    async def get(self, id: str) -> Kept | None:
        """One of them."""
        return self._kept.get(id)

    async def put(self, change: Change, each: int, total: int) -> Outcome:
        """Apply a change, a new one within the bounds only."""
        id, stored = change.id, self._kept.get(change.id)
        if stored is not None and stored.version == change.version:
            return Outcome.OK
        if change.expected != ("" if stored is None else stored.version):
            return Outcome.CONFLICT
        if stored is None:
            if self._count[change.owner] >= each:
                return Outcome.EACH
            if len(self._kept) >= total:
                return Outcome.TOTAL
            self._count[change.owner] += 1
        self._kept[id] = Kept(change.version, change.record)
        if change.wants:
            self._wants[id] = change.wants
            self._n += 1
        if change.due:
            self._set_due(change)
        return Outcome.OK

    def _set_due(self, change: Change) -> None:
        due_at = change.due_at
        self._idle.discard(change.id)
        if change.idle and change.id in self._more:
            due_at = change.at
        elif change.idle:
            self._idle.add(change.id)
        self._more.discard(change.id)
        if due_at is None:
            self._due.clear(change.id)
        else:
            self._due.set(change.id, due_at)

    async def drop(self, id: str, expected: str, owner: str) -> bool:
        """Forget one, where its version is the one given; whether it was."""
        stored = self._kept.get(id)
        if stored is None or stored.version != expected:
            return False
        del self._kept[id]
        self._wants.pop(id, None)
        self._n += 1
        self._count[owner] -= 1
        self._due.clear(id)
        self._idle.discard(id)
        self._more.discard(id)
        return True

    async def claim(self, now: int, n: int, until: int) -> Due:
        """Take up to `n` that are due, earliest first, moving each one's due to `until`."""
        ids = self._due.take(now, n, until)
        self._idle.difference_update(ids)
        self._more.difference_update(ids)
        return Due(ids, self._due.head())

    async def rouse(self, ids: Sequence[str], now: int) -> None:
        """Make due now those of them that are idle; the others will be once they become so."""
        for id in ids:
            if id in self._idle:
                self._idle.discard(id)
                self._due.set(id, now)
            elif id in self._kept:
                self._more.add(id)

    async def wants(self, n: int) -> Wants | None:
        """What all of them want, or None where it still has the number `n`."""
        return None if n == self._n else Wants(self._n, dict(self._wants))

    async def verified(self, name: str, now: int) -> bool:
        """Whether a name was kept as verified."""
        return self._verified.get(name, 0) > now

    async def verify(self, name: str, now: int, for_ms: int) -> None:
        """Keep a name as verified for a while."""
        self._verified = {each: until for each, until in self._verified.items() if until > now}
        self._verified[name] = now + for_ms
