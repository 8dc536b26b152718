"""Whoever subscribes over MCP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import httpx

from attend import Attend
from tests.api.wire import EVENT, Wire, wire
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


async def subscribed(urls: Sequence[str], token: str, url: str, scope_prefix: str) -> dict[str, Any]:
    """`events/subscribe` at whichever API answers."""
    for turn in range(100):
        try:
            async with wire(urls[turn % len(urls)], token) as client:
                return await client.result(
                    "events/subscribe", params(url, arguments={"scopePrefix": scope_prefix})
                )
        except (httpx.HTTPError, KeyError):  # It was killed, or the server was away.
            await anyio.sleep(0.2)
    raise AssertionError("nobody took the subscription")
