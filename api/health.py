"""`/healthz`: this process answers. `/readyz`: what is sent to it would commit."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from attend.api.answer import Receive, Refused, Scope, Send, answer, only, refuse
from attend.api.codes import RequestCode
from attend.app import Attend
from attend.store.base import Outcome, Write

PROBE_SCOPE = ""
"""The scope that readiness writes and removes again. No event can have it: theirs are never empty."""
_FRESH_MS = 1000
_PATIENCE_MS = 2000


class Health:
    """Answers whether the process is alive, and whether it is of use."""

    def __init__(self, app: Attend, stopping: Callable[[], bool]) -> None:
        self._app = app
        self._stopping = stopping
        self._checked_at = float("-inf")
        self._problem: str | None = None
        self._checking = asyncio.Lock()

    async def alive(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`GET /healthz`."""
        try:
            only(scope, "GET", "HEAD")
            await answer(send, 200, {"status": "alive"})
        except Refused as refused:
            await refuse(send, refused)

    async def ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`GET /readyz`."""
        try:
            only(scope, "GET", "HEAD")
            problem = "it is shutting down" if self._stopping() else await self._check()
            if problem is not None:
                raise Refused(503, RequestCode.UNAVAILABLE, problem, retry_after_ms=1000)
            await answer(send, 200, {"status": "ready"})
        except Refused as refused:
            await refuse(send, refused)

    async def _check(self) -> str | None:
        """What keeps a commit from working, by trying one; asked often, it tries once a second."""
        time = asyncio.get_running_loop().time
        async with self._checking:
            if time() - self._checked_at > _FRESH_MS / 1000:
                try:
                    async with asyncio.timeout(_PATIENCE_MS / 1000):
                        self._problem = await self._try()
                except Exception as error:  # noqa: BLE001 - whatever it is, a commit would meet it too
                    self._problem = f"the store cannot commit: {error or type(error).__name__}"
                self._checked_at = time()
        return self._problem

    async def _try(self) -> str | None:
        write = Write(
            scope=PROBE_SCOPE,
            expected="",
            version=f"1-{secrets.token_hex(8)}",
            at=self._app.clock.now(),
            snapshot=b"",
        )
        [outcome] = await self._app.store.commit([write])
        if outcome is Outcome.BAD:
            return "the store cannot commit: a key of attend holds another type"
        # Also after a conflict: another process was checking, or one died between the two.
        await self._app.store.remove(PROBE_SCOPE)
        return None
