"""MCP Events over the decision log: `events/list`, `events/poll`, `events/stream`. Webhooks are in `attend.api.subscribe`."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, TypeVar

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Meta, Struct
from pydantic import BaseModel, ConfigDict

from attend.api.auth import Principal, Right, access_of
from attend.api.faults import Faults, frame, invalid, no_method, unavailable
from attend.api.schema import read_arguments, schema_of
from attend.api.settings import ApiSettings
from attend.api.stopping import Stopping
from attend.api.subscribe import SubscribeRequest, Subscribing, UnsubscribeRequest
from attend.app import Attend
from attend.core.types import Summary
from attend.errors import StoreUnavailableError
from attend.feed import Batch
from attend.payload import EVENT, Arguments, Payload, payload, timestamp

EXTENSION = "io.modelcontextprotocol/events"
MOST_EVENTS, DEFAULT_EVENTS = 1000, 100
LONGEST_HOLD_MS = 25_000
_RETRY_MS = 1000

Context = ServerRequestContext[Any, Any]
R = TypeVar("R", bound=Struct)


class _Params(RequestParams):
    """Whatever a request carries; the structs below check it, since what they say of an error is clearer."""

    model_config = ConfigDict(extra="allow")


class ListRequest(Struct, frozen=True):
    """Of `events/list`; there is only one page."""

    cursor: str | None = None


class StreamRequest(Struct, frozen=True, rename="camel"):
    """Of `events/stream`."""

    name: str
    arguments: dict[str, Any] | None = None
    cursor: str | None = None
    max_age_ms: Annotated[int, Meta(ge=0)] | None = None


class PollRequest(StreamRequest, frozen=True, rename="camel"):
    """Of `events/poll`. `timeout_ms` asks to be held until there is something."""

    max_events: Annotated[int, Meta(ge=1)] = DEFAULT_EVENTS
    timeout_ms: Annotated[int, Meta(ge=0)] = 0


class Notification(BaseModel):
    """One of the extension's, which the SDK has no model of."""

    method: str
    params: dict[str, Any]


class Events:
    """The methods of the extension for one app."""

    def __init__(self, app: Attend, settings: ApiSettings, stopping: Stopping) -> None:
        self._app = app
        self._settings = settings
        self._stopping = stopping
        self._faults = Faults(settings.errors)
        self._subscribing = Subscribing(app, self._faults, settings.errors)

    def install(self, server: Server[Any]) -> None:
        """Serve them on an SDK server, for the protocol versions that have them."""
        server.extensions[EXTENSION] = {"listChanged": True}
        _add(server, "events/list", ListRequest, self.list)
        _add(server, "events/poll", PollRequest, self.poll)
        _add(server, "events/stream", StreamRequest, self.stream)
        _add(server, "events/subscribe", SubscribeRequest, self._subscribing.subscribe, ("ttlMs",))
        _add(server, "events/unsubscribe", UnsubscribeRequest, self._subscribing.unsubscribe)

    async def list(self, ctx: Context, request: ListRequest) -> HandlerResult:
        """The one event type."""
        return {
            "events": [
                {
                    "name": EVENT,
                    "description": "attend decided what the agent should do about something that happened in a "
                    "scope: interrupt, queue, note or ask. The tool attend_window has the events behind it.",
                    "delivery": self.modes(access_of(getattr(ctx.request, "scope", {})).now()),
                    "inputSchema": schema_of(Arguments),
                    "payloadSchema": schema_of(Payload),
                }
            ]
        }

    def modes(self, principal: Principal) -> builtins.list[str]:
        """How the event type is delivered to a principal: all of `events/list` that is not the same for everybody."""
        return self._subscribing.modes(principal)

    async def poll(self, ctx: Context, request: PollRequest) -> HandlerResult:
        """Decisions after a cursor."""
        reader = self._reader(ctx, request, "poll")
        hold = 0 if request.cursor is None else min(request.timeout_ms, LONGEST_HOLD_MS)
        try:
            batch = await reader.read(
                request.cursor, limit=min(request.max_events, MOST_EVENTS), wait_ms=hold
            )
        except StoreUnavailableError as error:
            raise unavailable() from error
        if not reader.may:
            raise self._faults.forbidden()
        return {
            "events": [reader.occurrence(decision) for decision in batch.decisions],
            "cursor": batch.cursor,
            "truncated": batch.truncated,
            "hasMore": batch.more,
            "nextPollMs": self._settings.poll_ms,
        }

    async def stream(self, ctx: Context, request: StreamRequest) -> HandlerResult:
        """Decisions as they come, until the client goes, may no longer read, or the server stops."""
        reader = self._reader(ctx, request, "stream")
        try:
            batch = await reader.read(request.cursor)
        except StoreUnavailableError as error:
            raise unavailable() from error
        out = _Out(ctx)
        await out.send("active", cursor=batch.start, truncated=batch.truncated)
        failing = False
        while True:
            for decision, cursor in zip(batch.decisions, batch.cursors, strict=True):
                if reader.stop():
                    break
                await out.send("event", **reader.occurrence(decision), cursor=cursor)
            if not reader.may:
                await out.send("terminated", error=frame(self._faults.forbidden()))
            if reader.stop():
                return {"_meta": out.meta}
            left = self._settings.heartbeat_ms - out.silent_ms
            if left <= 0:
                await out.send("heartbeat", cursor=batch.cursor)
                left = self._settings.heartbeat_ms
            try:
                batch = await reader.read(batch.cursor, wait_ms=left, follow=True)
                failing = False
            except StoreUnavailableError:
                if not failing:
                    await out.send("error", silent=True, error=frame(unavailable()))
                failing = True
                batch = Batch((), (), batch.cursor, batch.cursor, truncated=False, more=False)
                await self._stopping.wait(min(_RETRY_MS, self._settings.heartbeat_ms))
            if batch.truncated:
                await out.send("active", cursor=batch.start, truncated=True)

    def _reader(self, ctx: Context, request: StreamRequest, act: str) -> _Reader:
        if request.name != EVENT:
            raise self._faults.unknown_event(request.name)
        try:
            arguments = read_arguments(Arguments, request.arguments)
        except ValueError as error:
            raise invalid(f"arguments: {error}") from error
        reader = _Reader(self._app, self._stopping, ctx, request, arguments)
        if not reader.may:
            raise self._faults.forbidden()
        reader.access.note_reading(act)
        return reader


class _Reader:
    """One subscription: its checked arguments, and what its reader may see."""

    def __init__(
        self, app: Attend, stopping: Stopping, ctx: Context, request: StreamRequest, arguments: Arguments
    ) -> None:
        self._arguments = arguments
        self.access = access_of(getattr(ctx.request, "scope", {}))
        self._filter = arguments.filter(self.access.principal.visible)
        self._since = 0
        if request.max_age_ms is not None and request.cursor is not None:
            self._since = app.clock.now() - request.max_age_ms
        self._feed = app.feed
        self._stopping = stopping

    @property
    def may(self) -> bool:
        """Whether it still may read all that it did when it came."""
        return self.access.holds(Right.READ)

    def stop(self) -> bool:
        """Whether reading is to end."""
        return self._stopping() or not self.may

    async def read(self, cursor: str | None, *, limit: int = DEFAULT_EVENTS, **how: Any) -> Batch:
        return await self._feed.read(
            cursor, self._filter, limit=limit, since=self._since, stop=self.stop, **how
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
            Notification(  # type: ignore[arg-type]
                method=f"notifications/events/{kind}", params={**params, "_meta": self.meta}
            ),
            related_request_id=self._ctx.request_id,
        )
        if not silent:
            self._sent_at = self._time()


def _add(
    server: Server[Any],
    method: str,
    request_type: type[R],
    handler: Callable[[Context, R], Awaitable[HandlerResult]],
    nulls: Collection[str] = (),
) -> None:
    async def checked(ctx: Context, params: _Params) -> HandlerResult:
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise no_method(method)
        try:
            request = read_arguments(request_type, params.model_extra, nulls)
        except ValueError as error:
            raise invalid(str(error)) from error
        return await handler(ctx, request)

    server.add_request_handler(method, _Params, checked)
