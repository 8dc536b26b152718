"""`GET /v1/scopes/<scope>`: what is open, held, in judgement and waiting in a scope, and why it has not settled."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote_to_bytes

from attend.api.answer import Receive, Refused, Scope, Send, answer, only, refuse
from attend.api.auth import Principal, Right, access_of
from attend.api.codes import RequestCode
from attend.app import Attend
from attend.core.event import check_scope
from attend.core.report import Report, report
from attend.errors import EventError, StateFormatError, StoreCorruptError, StoreUnavailableError

PATH = "/v1/scopes"
RETRY_MS = 1000

_SEGMENT = re.compile(rb".*?/v1/scopes/([^/?#]+)")


class Scopes:
    """Shows scopes of one app."""

    def __init__(self, app: Attend) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The route, as an ASGI app."""
        try:
            only(scope, "GET", "HEAD")
            access = access_of(scope)
            access.require(Right.READ)
            found = await self._look(_named(scope), access.principal)
            await answer(send, 200, found, [(b"cache-control", b"no-store")])
        except Refused as refused:
            await refuse(send, refused)

    async def _look(self, name: str, principal: Principal) -> Report:
        """A scope's report. Raises `Refused`: the same for a scope that is unknown and one that may not be seen."""
        if not principal.covers(name):
            raise _unknown()
        engine = self._app.engine
        try:
            stored = await engine.stored(name)
        except StoreUnavailableError as error:
            raise Refused(
                503,
                RequestCode.UNAVAILABLE,
                f"the scope cannot be read now: {error}",
                retry_after_ms=RETRY_MS,
            ) from error
        except (StoreCorruptError, StateFormatError) as error:
            raise Refused(409, RequestCode.SCOPE_UNREADABLE, str(error)) from error
        if not stored.version and not stored.lost:
            raise _unknown()
        return report(stored.state, engine.book.of(stored.state), self._app.clock.now(), lost=stored.lost)


def _named(scope: Scope) -> str:
    """The scope that the path names, by its bytes as they came: a scope may hold slashes, percent-encoded."""
    path: Any = dict(scope).get("raw_path") or b""
    found = _SEGMENT.fullmatch(path.partition(b"?")[0])
    if found is None:
        raise _unknown()
    try:
        return check_scope(unquote_to_bytes(found[1]).decode())
    except (UnicodeDecodeError, EventError):
        raise _unknown() from None


def _unknown() -> Refused:
    return Refused(
        404,
        RequestCode.NOT_FOUND,
        "no such scope is known, or it is not yours to see; a scope is one segment of the path, percent-encoded",
    )
