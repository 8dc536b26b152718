"""A due set in memory: scopes by the instant they are due, what the Redis store keeps in a sorted set."""

from __future__ import annotations

import heapq


class DueSet:
    """Scopes with one due instant each, read from the earliest on.

    A heap beside a dict; an entry of the heap that the dict no longer agrees with is stale and skipped.
    """

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def get(self, scope: str) -> int | None:
        """When a scope is due, or None."""
        return self._due.get(scope)

    def set(self, scope: str, due_at: int) -> None:
        """Make a scope due at an instant, and at no other."""
        self._due[scope] = due_at
        heapq.heappush(self._heap, (due_at, scope))
        if len(self._heap) > 64 + 2 * len(self._due):
            self._heap = [(at, scope) for scope, at in self._due.items()]
            heapq.heapify(self._heap)

    def clear(self, scope: str) -> None:
        """Make a scope due no more."""
        self._due.pop(scope, None)

    def head(self) -> int | None:
        """The earliest due instant."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: int, n: int, until: int) -> tuple[str, ...]:
        """Up to `n` scopes due at `now` or before, earliest first, each moved to `until`."""
        taken: list[str] = []
        while len(taken) < n:
            head = self.head()
            if head is None or head > now:
                break
            scope = heapq.heappop(self._heap)[1]
            if scope not in taken:
                taken.append(scope)
        for scope in taken:
            self.set(scope, until)
        return tuple(taken)
