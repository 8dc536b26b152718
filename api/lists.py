"""What the lists that depend on a caller's rights say to it, to be compared with what they said before."""

from __future__ import annotations

from msgspec import Struct

from attend.api.auth import Access, Right
from attend.api.events import Events
from attend.api.tools import Tools


class Said(Struct, frozen=True):
    """The modes that `events/list` gives, and the tools that `tools/list` does; none to one who may not read."""

    events: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Lists:
    """Both lists of one server."""

    def __init__(self, events: Events, tools: Tools) -> None:
        self._events = events
        self._tools = tools

    def to(self, access: Access) -> Said:
        """What they would say to a request with the same token at this moment."""
        principal = access.now()
        if not principal.may(Right.READ):
            return Said()
        tools = tuple(tool.name for tool in self._tools.offered(principal))
        return Said(tuple(self._events.modes(principal)), tools)


class Known:
    """Both lists as a caller knows them."""

    def __init__(self, lists: Lists, access: Access) -> None:
        self._lists = lists
        self._access = access
        self._said = lists.to(access)

    @property
    def is_old(self) -> bool:
        """Whether a list would say something else by now."""
        return self._lists.to(self._access) != self._said

    def changed(self) -> frozenset[str]:
        """Which of `events` and `tools` would say something else by now, which the caller then knows."""
        before, self._said = self._said, self._lists.to(self._access)
        return frozenset(
            name for name in ("events", "tools") if getattr(before, name) != getattr(self._said, name)
        )
