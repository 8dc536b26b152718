"""Who may, at this moment: the token of a deployment and its file of principals, read again when it changes."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Callable, Iterable

from attend.errors import ConfigError
from attend.principal import Principal, Right, hash_of, read_file

logger = logging.getLogger("attend")

POLL_MS = 1000
"""How often the file is looked at."""

ANYONE = Principal("anyone", known=False)
"""Everybody, on a server that asks for no token."""

NOBODY = Principal("nobody", frozenset(), (), known=False)
"""Who may nothing."""

_Mark = tuple[int, int, int]


class Principals:
    """Finds whom a token stands for. `on_change` is called each time that the file was read anew.

    With neither a token nor a file everybody is `ANYONE`. Raises `ConfigError` for a file that cannot be read; one
    that cannot be read later on is said so once, and what was read before stands.
    """

    def __init__(self, token: str | None = None, path: str | None = None) -> None:
        self._own = (
            () if token is None else (Principal("token", hash=hash_of(token.encode())),)
        )  # With every right, over every scope.
        self._path = path
        self._known: tuple[Principal, ...] = self._own
        self._changed = asyncio.Event()
        self._mark: _Mark | None = None
        self._emptied: _Mark | None = None
        self.is_open = token is None and path is None
        """Whether no token is asked for."""
        self.on_change: list[Callable[[], None]] = []
        if path is not None:
            self._mark = _mark(path)
            try:
                self._known = (*self._own, *read_file(path))
            except ValueError as error:
                raise ConfigError(*str(error).splitlines()) from error

    def find(self, token: bytes) -> Principal | None:
        """Whom a token stands for, None for nobody."""
        given = hash_of(token).encode()
        found = None
        for each in self._known:  # All of them, so that the time tells nothing.
            if hmac.compare_digest(each.hash.encode(), given):
                found = each
        return found

    def holds(self, principal: Principal, right: Right) -> bool:
        """Whether a principal still has a right, over all the scopes that it had it for when it came."""
        if not principal.known:
            return principal.may(right)
        for each in self._known:
            if each.hash == principal.hash:
                return (
                    each.name == principal.name
                    and each.may(right)
                    and all(map(each.covers, principal.scopes))
                )
        return False

    def now(self, principal: Principal) -> Principal:
        """Whom the token of a principal stands for at this moment: `NOBODY` where it was withdrawn."""
        if not principal.known:
            return principal
        return next((each for each in self._known if each.hash == principal.hash), NOBODY)

    def reads(self, name: str, scopes: Iterable[str]) -> bool:
        """Whether anybody of this name may read all of these scope prefixes. Where no token is asked for all may."""
        wanted = tuple(scopes)
        return self.is_open or any(
            each.name == name and each.may(Right.READ) and all(map(each.covers, wanted))
            for each in self._known
        )

    async def lost(self, principal: Principal, right: Right) -> None:
        """Wait until it no longer has it."""
        while self.holds(principal, right):
            await self._changed.wait()

    async def watch(self, poll_ms: float = POLL_MS) -> None:
        """Look at the file again and again, until cancelled."""
        while self._path is not None:
            await asyncio.sleep(poll_ms / 1000)
            self.look()

    def look(self) -> None:
        """Look at the file once: where it changed it is read, and if that works it counts from now on.

        Who saves a file often empties it first. So one that is empty, or changes while it is read, is left to the
        next look: all that is subscribed would end at once.
        """
        if self._path is None or (mark := _mark(self._path)) == self._mark:
            return
        if mark is not None and not mark[1] and mark != self._emptied:
            self._emptied = mark
            return
        read: tuple[Principal, ...] = ()
        problem: ValueError | None = None
        try:
            read = read_file(self._path)
        except ValueError as error:
            problem = error
        if _mark(self._path) != mark:
            return
        self._mark = mark
        if problem is not None:
            problems = "; ".join(str(problem).splitlines())
            logger.error("the principals stay as they were, since the file is wrong: %s", problems)
            return
        self._known = (*self._own, *read)
        logger.info("the principals were read again: %s", ", ".join(each.name for each in read) or "none")
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for told in self.on_change:
            told()


def _mark(path: str) -> _Mark | None:
    """What changes when the file does, its size among it; None where there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
