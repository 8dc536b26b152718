"""Servers whose events are read: by HTTP, or through a transport of the MCP SDK such as a command's stdio."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

import httpx

from attend.client.wire import Message, next_id, request

SILENCE_MS = 65_000
"""How long an answer may be silent, comments of its transport included: twice the longest heartbeat, and a bit."""


class Unrouted(Protocol):
    """Told of a notification that belongs to no stream of the source's."""

    def __call__(self, message: Message) -> None:
        """Take note of it."""
        ...


class McpServer(Protocol):
    """A server that requests can be sent to, several at once."""

    def request(
        self, method: str, params: Mapping[str, Any], *, unrouted: Unrouted
    ) -> AbstractAsyncContextManager[AsyncGenerator[Message]]:
        """The messages that answer a request, in the order they were sent; the last is its result.

        Leaving it early tells the server that nobody reads on. Raises, and so does reading: `TroubleError` where
        the same may succeed later, `NotOfferedError`, `AnswerError`, and `PermanentError` where the server is gone
        for good.
        """
        ...


class HttpServer:
    """A server by its URL, such as `https://events.example/mcp`; a context manager that holds its connections.

    `token` is sent as a bearer token, `headers` as they are. Raises `ValueError` for a URL that is none.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        silence_ms: int = SILENCE_MS,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no URL of an MCP server; it begins with http:// or https://")
        self._url = url
        self._silence = silence_ms / 1000
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(
            headers={**(headers or {}), **bearer},
            # A proxy of the environment is for the world outside.
            trust_env=not _is_here(parts.hostname),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    @asynccontextmanager
    async def request(
        self, method: str, params: Mapping[str, Any], *, unrouted: Unrouted
    ) -> AsyncGenerator[AsyncGenerator[Message]]:
        """See `McpServer.request`."""
        id = next_id()
        where = self._url.partition("?")[0]
        asked = request(
            self._http, where, method, params, url=self._url, id=id, silence=self._silence, lenient=True
        )
        async with asked as messages, aclosing(_routed(messages, id, unrouted)) as routed:
            yield routed


async def _routed(messages: AsyncGenerator[Message], id: int, unrouted: Unrouted) -> AsyncGenerator[Message]:
    async for message in messages:
        if message.method and message.subscription not in (None, id):
            unrouted(message)
        else:
            yield message


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
