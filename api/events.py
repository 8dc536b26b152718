"""MCP Events over the decision log: `events/list`, `events/poll`, `events/stream`.

Webhooks are not offered, so `events/subscribe` answers Unsupported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, StrictInt, StrictStr

from attend.api.auth import principal_of
from attend.api.faults import Faults, frame, invalid, no_method, unavailable
from attend.api.payload import EVENT, Arguments, Payload, payload, timestamp
from attend.api.schema import read_arguments, schema_of
from attend.api.settings import ApiSettings
from attend.api.stopping import Stopping
from attend.app import Attend
from attend.core.types import Summary
from attend.errors import StoreUnavailableError
from attend.feed import Batch

EXTENSION = "io.modelcontextprotocol/events"
MOST_EVENTS, DEFAULT_EVENTS = 1000, 100
LONGEST_HOLD_MS = 25_000
_RETRY_MS = 1000

Context = ServerRequestContext[Any, Any]
P = TypeVar("P", bound=RequestParams)


class ListParams(RequestParams):
    """Of `events/list`."""

    cursor: StrictStr | None = None


class StreamParams(RequestParams):
    """Of `events/stream`."""

    name: StrictStr
    arguments: dict[str, Any] | None = None
    cursor: StrictStr | None = None
    max_age_ms: StrictInt | None = None


class PollParams(StreamParams):
    """Of `events/poll`. `timeout_ms` asks to be held until there is something."""

    max_events: StrictInt | None = None
    timeout_ms: StrictInt | None = None


class SubscribeParams(RequestParams):
    """Of `events/subscribe` and `events/unsubscribe`."""

    name: StrictStr
    delivery: dict[str, Any] | None = None


class _Notification(BaseModel):
    method: str
    params: dict[str, Any]


class Events:
    """The methods of the extension for one app."""

    def __init__(self, app: Attend, settings: ApiSettings, stopping: Stopping) -> None:
        self._app = app
        self._settings = settings
        self._stopping = stopping
        self._faults = Faults(settings.errors)

    def install(self, server: Server[Any]) -> None:
        """Serve them on an SDK server, for the protocol versions that have them."""
        server.extensions[EXTENSION] = {"listChanged": False}
        _add(server, "events/list", ListParams, self.list)
        _add(server, "events/poll", PollParams, self.poll)
        _add(server, "events/stream", StreamParams, self.stream)
        _add(server, "events/subscribe", SubscribeParams, self.subscribe)
        _add(server, "events/unsubscribe", SubscribeParams, self.unsubscribe)

    async def list(self, ctx: Context, params: ListParams) -> HandlerResult:
        """The one event type."""
        return {
            "events": [
                {
                    "name": EVENT,
                    "description": "attend decided what the agent should do about something that happened in a "
                    "scope: interrupt, queue, note or ask. The tool attend_window has the events behind it.",
                    "delivery": ["poll", "push"],
                    "inputSchema": schema_of(Arguments),
                    "payloadSchema": schema_of(Payload),
                }
            ]
        }

    async def poll(self, ctx: Context, params: PollParams) -> HandlerResult:
        """Decisions after a cursor."""
        reader = _Reader(self, ctx, params)
        limit = DEFAULT_EVENTS if params.max_events is None else params.max_events
        if limit < 1:
            raise invalid(f"maxEvents is {limit}, it must be 1 or more")
        hold = 0 if params.cursor is None else min(max(params.timeout_ms or 0, 0), LONGEST_HOLD_MS)
        try:
            batch = await reader.read(params.cursor, limit=min(limit, MOST_EVENTS), wait_ms=hold)
        except StoreUnavailableError as error:
            raise unavailable() from error
        return {
            "events": [reader.occurrence(decision) for decision in batch.decisions],
            "cursor": batch.cursor,
            "truncated": batch.truncated,
            "hasMore": batch.more,
            "nextPollMs": self._settings.poll_ms,
        }

    async def stream(self, ctx: Context, params: StreamParams) -> HandlerResult:
        """Decisions as they come, until the client goes or the server stops."""
        reader = _Reader(self, ctx, params)
        try:
            batch = await reader.read(params.cursor)
        except StoreUnavailableError as error:
            raise unavailable() from error
        out = _Out(ctx)
        await out.send("active", cursor=batch.start, truncated=batch.truncated)
        failing = False
        while True:
            for decision, cursor in zip(batch.decisions, batch.cursors, strict=True):
                if self._stopping():
                    break
                await out.send("event", **reader.occurrence(decision), cursor=cursor)
            if self._stopping():
                return {"_meta": out.meta}
            left = self._settings.heartbeat_ms - out.silent_ms
            if left <= 0:
                await out.send("heartbeat", cursor=batch.cursor)
                left = self._settings.heartbeat_ms
            try:
                batch = await reader.read(batch.cursor, wait_ms=left)
                failing = False
            except StoreUnavailableError:
                if not failing:
                    await out.send("error", silent=True, error=frame(unavailable()))
                failing = True
                batch = Batch((), (), batch.cursor, batch.cursor, truncated=False, more=False)
                await self._stopping.wait(min(_RETRY_MS, self._settings.heartbeat_ms))
            if batch.truncated:
                await out.send("active", cursor=batch.start, truncated=True)

    async def subscribe(self, ctx: Context, params: SubscribeParams) -> HandlerResult:
        """Webhooks, which are not offered."""
        if params.name != EVENT:
            raise self._faults.unknown_event(params.name)
        mode = (params.delivery or {}).get("mode")
        raise self._faults.unsupported_mode(mode if isinstance(mode, str) else "webhook")

    async def unsubscribe(self, ctx: Context, params: SubscribeParams) -> HandlerResult:
        """There never is one to end."""
        raise self._faults.unknown_subscription()


class _Reader:
    """One subscription: its checked arguments, and what its reader may see."""

    def __init__(self, events: Events, ctx: Context, params: StreamParams) -> None:
        if params.name != EVENT:
            raise events._faults.unknown_event(params.name)
        try:
            self._arguments = read_arguments(Arguments, params.arguments)
        except ValueError as error:
            raise invalid(f"arguments: {error}") from error
        if params.max_age_ms is not None and params.max_age_ms < 0:
            raise invalid(f"maxAgeMs is {params.max_age_ms}, it must be 0 or more")
        self._filter = self._arguments.filter(principal_of(getattr(ctx.request, "scope", {})).visible)
        self._since = 0
        if params.max_age_ms is not None and params.cursor is not None:
            self._since = events._app.clock.now() - params.max_age_ms
        self._feed = events._app.feed
        self._stopping = events._stopping

    async def read(self, cursor: str | None, *, limit: int = DEFAULT_EVENTS, wait_ms: float = 0) -> Batch:
        return await self._feed.read(
            cursor, self._filter, limit=limit, wait_ms=wait_ms, since=self._since, stop=self._stopping
        )

    def occurrence(self, decision: Summary) -> dict[str, Any]:
        return {
            "eventId": decision.id,
            "name": EVENT,
            "timestamp": timestamp(decision.decided_at),
            "data": payload(decision, redact=self._arguments.redact, named=self._arguments.scope),
        }


class _Out:
    """A stream's frames, and how long ago one told the client that it lives."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._time = asyncio.get_running_loop().time
        self._sent_at = self._time()
        self.meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}

    @property
    def silent_ms(self) -> float:
        return (self._time() - self._sent_at) * 1000

    async def send(self, kind: str, *, silent: bool = False, **params: Any) -> None:
        await self._ctx.session.send_notification(
            _Notification(  # type: ignore[arg-type]
                method=f"notifications/events/{kind}", params={**params, "_meta": self.meta}
            ),
            related_request_id=self._ctx.request_id,
        )
        if not silent:
            self._sent_at = self._time()


def _add(
    server: Server[Any],
    method: str,
    params_type: type[P],
    handler: Callable[[Context, P], Awaitable[HandlerResult]],
) -> None:
    async def gated(ctx: Context, params: P) -> HandlerResult:
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise no_method(method)
        return await handler(ctx, params)

    server.add_request_handler(method, params_type, gated)


__all__ = ["EXTENSION", "Events", "MCPError"]
