"""The records in Redis: a capped stream, and fields of the windows' hashes, which go when the log is trimmed."""

from __future__ import annotations

from collections.abc import Sequence

from attend.store.keys import Keys
from attend.store.records import Entry, Record
from attend.store.redis_link import Link

_TAKEN = b"ack:"
"""What a field of a window begins with that says when a principal took its decision."""


class RedisRecords:
    """The records of one prefix."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys

    async def add(self, entries: Sequence[Entry], most: int) -> int:
        """Add rows in their order, letting go of the oldest past `most`; how many were added."""
        arguments: list[object] = [most]
        for entry in entries:
            arguments += (entry.row, entry.at, entry.name, entry.within_ms)
        return int(await self._link.run("record", [self._keys.audit, self._keys.readers], arguments))

    async def read(self, after: str, limit: int) -> list[Record]:
        """Up to `limit` rows after one's id, oldest first; "" is before the first."""
        found: list[tuple[bytes, dict[bytes, bytes] | None]] = await self._link.call(
            "XRANGE", self._keys.audit, f"({after}" if after else "-", "+", "COUNT", limit
        )
        return [Record(id.decode(), (fields or {}).get(b"d", b"")) for id, fields in found]

    async def acknowledge(self, decision_id: str, principal: str, at: int) -> int | None:
        """Keep that a principal took a decision; when it first said so, None where there is no such decision."""
        keys = [self._keys.window(decision_id)]
        first = await self._link.run("acknowledge", keys, [_TAKEN + principal.encode(), at])
        return None if first is None else int(first)

    async def acknowledged(self, decision_ids: Sequence[str]) -> list[bool]:
        """Of each decision whether anybody took it."""
        if not decision_ids:
            return []
        names: list[list[bytes]] = await self._link.together(
            *(("HKEYS", self._keys.window(each)) for each in decision_ids)
        )
        return [any(name.startswith(_TAKEN) for name in each) for each in names]
