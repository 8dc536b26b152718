"""An attend's decisions as they come, with the cursor kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, aclosing
from typing import Any

from attend.client import Client, Occurrence
from attend.client.decisions import Decisions


class DecisionFeed:
    """An asynchronous iterator of decisions. See `decision_feed`."""

    def __init__(self, client: Client | str, token: str | None, cursor: str | None, **asked: Any) -> None:
        self._client = client
        self._token = token
        self._asked = asked
        self._cursor = cursor
        self._decisions: Decisions | None = None

    @property
    def cursor(self) -> str | None:
        """Where to go on after what was handed out and dealt with: keep it, and begin with it the next time."""
        return self._cursor if self._decisions is None else self._decisions.cursor

    async def __aiter__(self) -> AsyncGenerator[Occurrence]:
        """Read until the reader stops, or the server turns it down for good: then it raises `AnswerError`."""
        async with AsyncExitStack() as open_now:
            client = self._client
            if isinstance(client, str):
                url = client.rstrip("/").removesuffix("/mcp")
                client = await open_now.enter_async_context(Client(url, self._token))
            decisions = client.decisions(self.cursor, wait=True, **self._asked)
            self._decisions = decisions
            async with aclosing(aiter(decisions)) as found:
                async for occurrence in found:
                    yield occurrence


def decision_feed(
    client: Client | str,
    *,
    cursor: str | None = None,
    token: str | None = None,
    scope: str | None = None,
    scope_prefix: str | None = None,
    routes: Collection[str] | None = None,
    min_confidence: float | None = None,
) -> DecisionFeed:
    """Decisions of the attend that `client` speaks to, or that serves at a URL, as they come, each once.

    `async for decision in feed:`; what it is about is in `decision.data`. It connects again by itself and goes on
    where it was; `feed.cursor` is that place, for the next run of your program. None is from now on,
    `attend.client.START` from the oldest decision kept. Raises `ValueError` for a URL that is none.
    """
    return DecisionFeed(
        client,
        token,
        cursor,
        scope=scope,
        scope_prefix=scope_prefix,
        routes=routes,
        min_confidence=min_confidence,
    )
