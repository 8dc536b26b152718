"""Who may: the one place where a request's Host, Origin and token are judged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from attend.api.answer import Refused, refuse
from attend.api.audit import Audit
from attend.api.codes import RequestCode
from attend.principal import Principal, Right
from attend.principals import ANYONE, NOBODY, Principals

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no token: they say nothing but yes or no."""


class Access:
    """What a request's sender may, now and for as long as the request is open: everything that may asks this."""

    def __init__(self, principal: Principal, principals: Principals | None, audit: Audit | None) -> None:
        self.principal = principal
        self._principals = principals
        self._audit = audit

    def holds(self, right: Right) -> bool:
        """Whether it has a right, still over every scope that it had it for when the request came."""
        if self._principals is None:
            return self.principal.may(right)
        return self._principals.holds(self.principal, right)

    def now(self) -> Principal:
        """Whom a request with the same token would come from at this moment."""
        return self.principal if self._principals is None else self._principals.now(self.principal)

    def require(self, right: Right) -> None:
        """Raise `Refused` (403) where it does not hold the right."""
        if not self.holds(right):
            raise Refused(403, RequestCode.FORBIDDEN, f"this token does not have the right to {right}")

    async def lost(self, right: Right) -> None:
        """Wait until it no longer holds the right, which may be never."""
        if self._principals is not None:
            await self._principals.lost(self.principal, right)

    def note(self, act: str, **what: str | int) -> None:
        """Have it on record that this principal changed something. Never a token, and no event's text."""
        if self._audit is not None and self.principal.known:
            self._audit.note(self.principal.name, act, what)

    def note_reading(self, act: str) -> None:
        """Have it on record that it listens: a row when it begins to, then one in ten minutes at most."""
        if self._audit is not None and self.principal.known:
            self._audit.note_reading(self.principal.name, act)


class Gate:
    """ASGI middleware in front of every route: it turns a request away, or says whose it is."""

    def __init__(self, app: ASGIApp, principals: Principals, audit: Audit, hosts: Iterable[str]) -> None:
        self._app = app
        self._principals = principals
        self._audit = audit
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on with what its sender may, or answer it."""
        if scope["type"] == ScopeType.HTTP:
            try:
                self._check_host(scope["headers"])
                principal = ANYONE if scope["path"] in OPEN_PATHS else self._principal(scope["headers"])
            except Refused as refused:
                await refuse(send, refused)
                return
            scope["state"]["access"] = Access(principal, self._principals, self._audit)
        await self._app(scope, receive, send)

    def _check_host(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or not self._knows(hosts[0].decode("latin-1")):
            raise Refused(
                421,
                RequestCode.BAD_HOST,
                "the Host header names no host this server is known by; see --allow-host",
            )
        for origin in _all(headers, b"origin"):
            scheme, _, host = origin.decode("latin-1").partition("://")
            if scheme not in ("http", "https") or not self._knows(host):
                raise Refused(
                    403,
                    RequestCode.BAD_ORIGIN,
                    "requests from pages of this origin are not taken; see --allow-host",
                )

    def _knows(self, host: str) -> bool:
        host = host.lower()
        return host in self._hosts or re.sub(r":[0-9]{1,5}$", "", host) in self._hosts

    def _principal(self, headers: Iterable[tuple[bytes, bytes]]) -> Principal:
        if self._principals.is_open:
            return ANYONE
        given = _all(headers, b"authorization")
        if len(given) == 1:
            scheme, _, token = given[0].partition(b" ")
            if scheme.lower() == b"bearer" and token.strip(b" "):
                found = self._principals.find(token.strip(b" "))
                if found is not None:
                    return found
        raise Refused(
            401,
            RequestCode.UNAUTHORIZED,
            "this needs `Authorization: Bearer <token>` with a token that is known here",
            headers=[(b"www-authenticate", b'Bearer realm="attend"')],
        )


def access_of(scope: Any) -> Access:
    """What the sender of a request may, as the gate found; nothing where no gate stood."""
    found = scope.get("state", {}).get("access")
    return found if isinstance(found, Access) else Access(NOBODY, None, None)


def principal_of(scope: Any) -> Principal:
    """Whose request it is."""
    return access_of(scope).principal


def require(principal: Principal, right: Right) -> None:
    """Raise `Refused` (403) where the principal does not have the right."""
    Access(principal, None, None).require(right)


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each == name]


__all__ = [
    "ANYONE",
    "LOOPBACK",
    "OPEN_PATHS",
    "Access",
    "Gate",
    "Principal",
    "Right",
    "access_of",
    "principal_of",
    "require",
]
