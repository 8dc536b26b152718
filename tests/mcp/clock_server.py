"""A server that speaks on stdin and stdout, made with the official SDK: numbers as events, by poll and by stream."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp_types import RequestParams
from pydantic import BaseModel, Field

SUB = "io.modelcontextprotocol/subscriptionId"
VERSIONS = frozenset({"2026-07-28"})

Context = ServerRequestContext[Any, Any]


class _Params(RequestParams):
    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    cursor: str | None = None


class _Note(BaseModel):
    method: str
    params: dict[str, Any]


class Numbers(Extension):
    """As many events as the file holds bytes; `arguments.only` is `odd` or `even`."""

    identifier = "io.modelcontextprotocol/events"

    def __init__(self, file: Path) -> None:
        self._file = file

    def methods(self) -> list[MethodBinding]:
        """What it answers."""
        return [
            MethodBinding("events/list", _Params, self.list, VERSIONS),
            MethodBinding("events/stream", _Params, self.stream, VERSIONS),
        ]

    async def list(self, ctx: Context, params: _Params) -> dict[str, Any]:
        """The one type."""
        schema = {"type": "object"}
        about = {"description": "numbers", "inputSchema": schema, "payloadSchema": schema}
        return {"events": [{"name": "number", "delivery": ["push"], **about}]}

    async def stream(self, ctx: Context, params: _Params) -> dict[str, Any]:
        """Each number once; it ends when the file is gone."""
        meta = {SUB: ctx.request_id}

        async def send(kind: str, **more: Any) -> None:
            note = _Note(method=f"notifications/events/{kind}", params={**more, "_meta": meta})
            await ctx.session.send_notification(note, related_request_id=ctx.request_id)  # type: ignore[arg-type]

        place = 0 if params.cursor is None else int(params.cursor)
        await send("active", cursor=str(place), truncated=False)
        while self._file.exists():
            while place < self._file.stat().st_size:
                place += 1
                if place % 2 == (params.arguments.get("only") == "odd"):
                    event = {"eventId": f"n{place}", "name": "number", "data": {"n": place}}
                    await send("event", **event, timestamp="2026-11-30T14:08:46Z", cursor=str(place))
            await anyio.sleep(0.02)
        return {"_meta": meta}


if __name__ == "__main__":
    told = Path(sys.argv[1])
    told.with_suffix(".pid").write_text(str(os.getpid()))
    MCPServer("numbers", version="1", extensions=[Numbers(told)]).run("stdio")
