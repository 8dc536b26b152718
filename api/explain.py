"""`GET /v1/decisions/<id>/explain`: why a decision is what it is, and where it is by now."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote_to_bytes

from msgspec import structs

from attend.api.answer import Receive, Refused, Scope, Send, answer, only, refuse
from attend.api.auth import Principal, Right, access_of
from attend.api.codes import RequestCode
from attend.app import Attend
from attend.core.event import check_id
from attend.core.explain import Explanation
from attend.errors import EventError, StateFormatError, StoreCorruptError, StoreUnavailableError
from attend.explained import explanation_of

PATH = "/v1/decisions"
RETRY_MS = 1000

_SEGMENT = re.compile(rb".*?/v1/decisions/([^/?#]+)/explain")


class Explain:
    """Explains decisions of one app."""

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

    async def _look(self, id: str, principal: Principal) -> Explanation:
        """Raises `Refused`: the same for a decision that is unknown and one that may not be seen."""
        try:
            found = await explanation_of(self._app.engine, id)
        except StoreUnavailableError as error:
            raise Refused(
                503,
                RequestCode.UNAVAILABLE,
                f"the decision cannot be read now: {error}",
                retry_after_ms=RETRY_MS,
            ) from error
        except (StoreCorruptError, StateFormatError) as error:
            if principal.visible is not None:
                raise _unknown() from error
            raise Refused(409, RequestCode.SCOPE_UNREADABLE, str(error)) from error
        if found is None or not principal.covers(found.scope):
            raise _unknown()
        if principal.visible is not None and found.logged is not None:
            # The number of its row counts the decisions of every scope.
            found = structs.replace(found, logged=structs.replace(found.logged, n=None, id=None))
        return found


def _named(scope: Scope) -> str:
    path: Any = dict(scope).get("raw_path") or b""
    found = _SEGMENT.fullmatch(path.partition(b"?")[0])
    if found is None:
        raise _unknown()
    try:
        return check_id(unquote_to_bytes(found[1]).decode())
    except (UnicodeDecodeError, EventError):
        raise _unknown() from None


def _unknown() -> Refused:
    return Refused(
        404,
        RequestCode.NOT_FOUND,
        "no such decision is kept, or it is not yours to see; the path is /v1/decisions/<decisionId>/explain",
    )
