"""Whoever subscribes over MCP."""

from __future__ import annotations

from typing import Any

from attend import Attend
from tests.api.wire import EVENT, Wire
from tests.webhooks.receiver import SECRET


class Subscriber:
    """A client of one served app."""

    def __init__(self, app: Attend, wire: Wire) -> None:
        self.app = app
        self.wire = wire

    async def subscribe(self, url: str, secret: str = SECRET, **more: Any) -> dict[str, Any]:
        """`events/subscribe`."""
        return await self.wire.result("events/subscribe", params(url, secret, **more))

    async def refused(self, url: str, secret: str = SECRET, **more: Any) -> dict[str, Any]:
        """The error of `events/subscribe`."""
        return await self.wire.error("events/subscribe", params(url, secret, **more))


def params(url: str, secret: str = SECRET, **more: Any) -> dict[str, Any]:
    """The parameters of `events/subscribe`."""
    return {"name": EVENT, "delivery": {"mode": "webhook", "url": url, "secret": secret}, **more}
