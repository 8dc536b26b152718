"""Who may: the one place where a request's Host, Origin and token are judged."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Struct

from attend.api.answer import Refused, refuse
from attend.api.codes import RequestCode

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no token: they say nothing but yes or no."""


class Right(StrEnum):
    """What a principal may do within its scopes."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


class Principal(Struct, frozen=True):
    """Who sent a request: a name, rights, and the scope prefixes they hold for. `known` when a token said so."""

    name: str
    rights: frozenset[Right] = frozenset(Right)
    scopes: tuple[str, ...] = ("",)
    known: bool = True

    def may(self, right: Right) -> bool:
        """Whether it has the right for any scope."""
        return right in self.rights

    def covers(self, scope: str) -> bool:
        """Whether its rights hold for this scope."""
        return scope.startswith(self.scopes)

    @property
    def visible(self) -> tuple[str, ...] | None:
        """The scope prefixes it may see; None for all."""
        return None if "" in self.scopes else self.scopes


ANYONE = Principal("anyone", known=False)
"""Everybody, on a server that has no token."""


class Gate:
    """ASGI middleware in front of every route: it turns a request away, or says whose it is."""

    def __init__(self, app: ASGIApp, tokens: Sequence[tuple[str, Principal]], hosts: Iterable[str]) -> None:
        self._app = app
        self._tokens = [(token.encode(), principal) for token, principal in tokens]
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on with its principal, or answer it."""
        if scope["type"] == ScopeType.HTTP:
            try:
                self._check_host(scope["headers"])
                principal = ANYONE if scope["path"] in OPEN_PATHS else self._principal(scope["headers"])
            except Refused as refused:
                await refuse(send, refused)
                return
            scope["state"]["principal"] = principal
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
        if not self._tokens:
            return ANYONE
        given = _all(headers, b"authorization")
        if len(given) == 1:
            scheme, _, token = given[0].partition(b" ")
            if scheme.lower() == b"bearer" and token:
                found = None
                for known, principal in self._tokens:  # All of them, so that the time tells nothing.
                    if hmac.compare_digest(known, token.strip(b" ")):
                        found = principal
                if found is not None:
                    return found
        raise Refused(
            401,
            RequestCode.UNAUTHORIZED,
            "this needs `Authorization: Bearer <token>` with a token that is known here",
            headers=[(b"www-authenticate", b'Bearer realm="attend"')],
        )


def principal_of(scope: Any) -> Principal:
    """Whose request it is, as the gate found. Nobody's where no gate stood: then it may nothing."""
    found = scope.get("state", {}).get("principal")
    return found if isinstance(found, Principal) else Principal("nobody", frozenset(), (), known=False)


def require(principal: Principal, right: Right) -> None:
    """Raise `Refused` (403) where the principal does not have the right."""
    if not principal.may(right):
        raise Refused(403, RequestCode.FORBIDDEN, f"this token does not have the right to {right}")


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each == name]
