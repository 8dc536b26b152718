"""The reference of ingest: an endpoint that appends every line of a body to a stream, in one redis-py pipeline."""

from __future__ import annotations

from typing import Any

from litestar import asgi
from litestar.types import Receive, Scope, Send
from redis.asyncio import Redis

from attend.api.answer import answer

PATH = "/reference"
STREAM = "reference"


def endpoint(url: str) -> Any:
    """The endpoint, for the server at a Redis URL."""
    client: Any = Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]

    async def take(scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            message: Any = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        lines = [line for line in body.split(b"\n") if line]
        async with client.pipeline() as pipeline:
            for line in lines:
                pipeline.xadd(STREAM, {"line": bytes(line)})
            await pipeline.execute()
        await answer(send, 200, {"accepted": len(lines)})

    return asgi(PATH, copy_scope=True)(take)
