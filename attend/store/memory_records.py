"""The records of the memory store."""

from __future__ import annotations

from collections.abc import Sequence

from attend.store.memory_log import MemoryLog
from attend.store.records import Entry, Record


class MemoryRecords:
    """Rows in a list, whose ids count up."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._rows: list[Record] = []
        self._count = 0
        self._lately: dict[str, int] = {}

    async def add(self, entries: Sequence[Entry], most: int) -> int:
        """Add rows in their order, letting go of the oldest past `most`; how many were added."""
        before = self._count
        for entry in entries:
            if entry.name:
                last = self._lately.get(entry.name)
                if last is not None and entry.at - last < entry.within_ms:
                    continue
                self._lately[entry.name] = entry.at
            self._count += 1
            self._rows.append(Record(str(self._count), entry.row))
        del self._rows[: max(0, len(self._rows) - most)]
        return self._count - before

    async def read(self, after: str, limit: int) -> list[Record]:
        """Up to `limit` rows after one's id, oldest first; "" is before the first."""
        past = int(after or 0)
        return [record for record in self._rows if int(record.id) > past][:limit]

    async def acknowledge(self, decision_id: str, principal: str, at: int) -> int | None:
        """Keep that a principal took a decision; when it first said so, None where there is no such decision."""
        return self._log.take(decision_id, principal, at)

    async def acknowledged(self, decision_ids: Sequence[str]) -> list[bool]:
        """Of each decision whether anybody took it."""
        return [self._log.is_taken(each) for each in decision_ids]
