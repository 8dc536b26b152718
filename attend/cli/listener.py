"""An agent's ear: the official MCP client, subscribed to decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import Request, RequestParams, Result
from pydantic import BaseModel, ConfigDict

EVENT = "attention.decision"

Hear = Callable[[str, dict[str, Any]], Awaitable[None]]


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class _Request(Request[_Params, str]):
    pass


class _Result(Result):
    model_config = ConfigDict(extra="allow")


class _Notification(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Events(ClientExtension):
    """The Events extension's notifications, handed on with the last word of their method."""

    identifier = "io.modelcontextprotocol/events"

    def __init__(self, hear: Hear) -> None:
        self._hear = hear

    def notifications(self) -> list[NotificationBinding[Any]]:
        """One binding for each of the five methods."""
        return [self._binding(word) for word in ("active", "event", "heartbeat", "error", "terminated")]

    def _binding(self, word: str) -> NotificationBinding[Any]:
        async def take(notification: _Notification) -> None:
            await self._hear(word, notification.model_dump())

        return NotificationBinding(
            method=f"notifications/events/{word}", params_type=_Notification, handler=take
        )


async def listen(url: str, hear: Hear) -> None:
    """Stream decisions from `url` (an MCP endpoint), from now on, until cancelled or the server ends it.

    `hear` is called with `"active"` once the stream has begun, with `"event"` and the occurrence for each
    decision, and with `"heartbeat"`, `"error"` and `"terminated"` as they come.
    """
    async with Client(url, extensions=[_Events(hear)]) as client:
        request = _Request(
            method="events/stream",
            params=_Params.model_validate({"name": EVENT, "arguments": {}, "cursor": None}),
        )
        await client.session.send_request(request, _Result, request_read_timeout_seconds=3600)
