"""Every key in Redis, built here and nowhere else.

All share one hash tag, so a script may touch any of them wherever they are kept.
"""

from __future__ import annotations

from attend.core.types import Lane
from attend.errors import ConfigError


class Keys:
    """The keys under one prefix. Raises `ConfigError` for a prefix that cannot be a hash tag."""

    def __init__(self, prefix: str) -> None:
        if not prefix or any(c in prefix for c in "{}") or not prefix.isprintable():
            raise ConfigError(
                f"prefix is {prefix!r}, it must be printable text without braces, such as 'default'"
            )
        self._base = base = f"attend:{{{prefix}}}:"
        self._scope = f"{base}s:"
        self._tail = f"{base}t:"
        self._window = f"{base}w:"
        self.scopes = f"{base}scopes"  # zset: every scope, score = its last commit
        self.dead = f"{base}dead"  # zset: scopes with dead letters, score = when the oldest of them died
        self.log = f"{base}log"  # stream: n the dense counter, d the summary, w the window's id
        self.meta = (
            f"{base}meta"  # hash: epoch, n of the newest row, trimmed = n of the newest one trimmed, format
        )
        self.rules = f"{base}rules"  # hash: generation, highest = its digest, r:<digest> = rules
        self.dues = tuple(self.due(lane) for lane in Lane)
        self.wakes = tuple(self.wake(lane) for lane in Lane)

    def scope(self, scope: str) -> str:
        """hash: v the version, sv the snapshot's version, was the one it replaced, snap the snapshot."""
        return self._scope + scope

    def tail(self, scope: str) -> str:
        """list: `<version> <entry>` for each commit since the snapshot."""
        return self._tail + scope

    def window(self, window_id: str) -> str:
        """hash: win the window; sum, id and n of its row; held, done, trimmed where they are so."""
        return self._window + window_id

    def due(self, lane: Lane) -> str:
        """zset: scope, score = when it is due in the lane."""
        return f"{self._base}due:{lane}"

    def wake(self, lane: Lane) -> str:
        """list: at most one token, which a sleeper of the lane takes."""
        return f"{self._base}wake:{lane}"

    def nudge(self, sleeper: str) -> str:
        """list: what ends one sleeper's wait before its time; gone once it did."""
        return f"{self._base}nudge:{sleeper}"
