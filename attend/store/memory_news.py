"""The attention feed of the memory store."""

from __future__ import annotations

from collections.abc import Sequence

from attend.store.base import Row
from attend.store.memory_log import MemoryLog
from attend.store.news_log import MAX_OPEN, NewsRow


class MemoryNews(MemoryLog):
    """A log whose rows have no windows, and the conditions that are open, in the order they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._open: dict[str, tuple[int, bytes]] = {}

    def write(self, at: int, news: Sequence[NewsRow]) -> None:
        """The news of one write."""
        for each in news:
            if each.change == "opens":
                if each.condition in self._open:
                    continue
                if len(self._open) < MAX_OPEN:
                    self._open[each.condition] = (at, each.row)
            elif each.change == "resolves" and self._open.pop(each.condition, None) is None:
                continue
            self._count += 1
            self.record(at, (Row(str(self._count), each.row, b"", False),), (), ())

    async def conditions(self) -> list[bytes]:
        """The row of each condition that is open."""
        return [row for _, row in sorted(self._open.values(), key=lambda found: found[0])]

    async def expire(self, oldest_at: int) -> int:
        """Let go of conditions opened before an instant."""
        old = [condition for condition, (at, _) in self._open.items() if at < oldest_at]
        for condition in old:
            del self._open[condition]
        return len(old)
