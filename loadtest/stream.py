"""An open `events/stream`, read with as little work as there can be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from loadtest.wire import request

VERSION = "2026-07-28"
EVENT = "attention.decision"


def rpc(method: str, **params: Any) -> bytes:
    """An MCP request's body."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "loadtest", "version": "1"},
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    ).encode()


def headers(method: str) -> dict[str, str]:
    """What an MCP request says beside its body."""
    return {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
    }


async def frames(url: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The stream's frames from now on, each by its method's last word, `active` first."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        method = "events/stream"
        writer.write(request("/mcp", rpc(method, name=EVENT, arguments={}), **headers(method)))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"events/stream was not opened: {head!r} {await reader.read(2000)!r}")
        text = bytearray()
        while size := int(await reader.readline(), 16):
            text += (await reader.readexactly(size + 2))[:-2]
            *lines, rest = text.split(b"\n")
            text = bytearray(rest)
            for line in lines:
                if line.startswith(b"data: "):
                    message = json.loads(line[6:])
                    yield message.get("method", "").rpartition("/")[2], message.get("params", {})
    finally:
        writer.close()
