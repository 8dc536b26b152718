"""Every key in Redis, built here and nowhere else.

All share one hash tag, so a script may touch any of them wherever they are kept.
"""

from __future__ import annotations

from typing import Protocol

from attend.core.types import Lane
from attend.errors import ConfigError
from attend.store.subscription_keys import SubscriptionKeys


class LogKeys(Protocol):
    """The keys of one log: its hash, its stream, and the hash of each window that its rows name."""

    @property
    def meta(self) -> str:
        """hash: epoch, n of the newest row, trimmed = n of the newest one trimmed, format, secret of its cursors."""
        ...

    @property
    def log(self) -> str:
        """stream: n the dense counter, d what the row says, w the window's id where it has one."""
        ...

    def window(self, window_id: str) -> str:
        """The hash of a window."""
        ...


class EventKeys:
    """The keys of one scope's log of events, whose rows have no windows."""

    def __init__(self, base: str, scope: str) -> None:
        self.meta = f"{base}em:{scope}"
        self.log = f"{base}e:{scope}"
        self._none = f"{base}w:"

    def window(self, window_id: str) -> str:
        """A key that holds nothing."""
        return self._none + window_id


class NewsKeys:
    """The keys of the attention feed, whose rows have no windows."""

    def __init__(self, base: str) -> None:
        self.meta = f"{base}news:meta"
        self.log = f"{base}news"
        self.open = f"{base}open"  # hash: a condition's id, and when it was opened with the row that did
        self._none = f"{base}w:"

    def window(self, window_id: str) -> str:
        """A key that holds nothing."""
        return self._none + window_id


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
        self.meta = f"{base}meta"  # hash: epoch, n of the newest row, trimmed = n of the newest one trimmed, format, secret
        self.news = NewsKeys(base)
        self.subscriptions = SubscriptionKeys(base)
        self.audit = f"{base}audit"  # stream: d a row of who did what
        self.readers = f"{base}readers"  # hash: who reads, and when a row last said so
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
        """hash: win the window; sum, id and n of its row; held, done, trimmed where they are so; ack:<principal> = when it took it."""
        return self._window + window_id

    def events(self, scope: str) -> EventKeys:
        """A scope's log of events, in front of attend."""
        return EventKeys(self._base, scope)

    def holder(self, name: str) -> str:
        """string: which process does what one process at a time may; it goes away when that one does."""
        return f"{self._base}holder:{name}"

    def due(self, lane: Lane) -> str:
        """zset: scope, score = when it is due in the lane."""
        return f"{self._base}due:{lane}"

    def wake(self, lane: Lane) -> str:
        """list: at most one token, which a sleeper of the lane takes."""
        return f"{self._base}wake:{lane}"

    def nudge(self, sleeper: str) -> str:
        """list: what ends one sleeper's wait before its time; gone once it did."""
        return f"{self._base}nudge:{sleeper}"
