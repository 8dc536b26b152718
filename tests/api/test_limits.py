"""Limits that hold on every route, and requests so odd that others answer them with 500."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncGenerator

import anyio
import httpx
import pytest

from attend.api.answer import Refused
from attend.api.body import Flight, read_body
from attend.api.settings import MIB
from tests.api.conftest import Serve
from tests.api.wire import headers_of, request_of, wire

pytestmark = pytest.mark.anyio

PATHS = [
    b"/", b"//", b"/%", b"/%ff", b"/\xff", b"/{x}", b"/../etc/passwd", b"/" + b"a" * 100_000, b"*",
    b"/v1/ingest/", b"/v1/ingest?x=%ff", b"/v1//ingest", b"/v1/ingest/stream/",
    b"/v1/scopes", b"/v1/scopes/", b"/v1/scopes/%ff", b"/v1/scopes/%00", b"/v1/scopes/a/b",
    b"/v1/decisions/%ff/explain", b"/v1/decisions//explain", b"/mcp/x", b"/mcp//", b"/healthz/",
]  # fmt: skip
METHODS = [b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"HEAD", b"TRACE", b"BREW"]
JSON = b"content-type: application/json\r\naccept: application/json, text/event-stream"
BODIES = [
    (b"content-length: -1", b""),
    (b"transfer-encoding: chunked", b"zz\r\n"),
    (b"transfer-encoding: gzip", b"x"),
    (b"content-length: 1\r\ncontent-encoding: \xff", b"x"),
    (b"content-length: 1\r\ncontent-type: \xff\r\naccept: \xff\r\nmcp-method: \xff", b"x"),
    (b"content-length: 1\r\norigin: \xff", b"x"),
    (b"content-length: 2\r\n" + JSON, b"\xff\xfe"),
    (b"content-length: 50000\r\n" + JSON, b"[" * 50_000),
    (b"content-length: 50000\r\n" + JSON, b"[" * 25_000 + b"]" * 25_000),
    (b"content-length: 4\r\n" + JSON, b"null"),
    (b"content-length: 17\r\n" + JSON, b'{"jsonrpc":"2.0"}'),
]


async def status_of(url: httpx.URL, request: bytes) -> int:
    """The status of a request as bytes; 0 where it is not answered but cut off."""
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(request)
        await writer.drain()
        with anyio.fail_after(30):
            return int((await reader.readline()).split()[1])
    except (IndexError, ConnectionError):
        return 0
    finally:
        writer.transport.abort()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_nothing_is_answered_with_500(served: Serve) -> None:
    async with served(run=False) as (_, server):
        url = httpx.URL(server.url())
        ends = b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        for path in PATHS:
            for method in METHODS:
                request = method + b" " + path + ends + b"content-length: 0\r\n\r\n"
                assert await status_of(url, request) < 500, (method, path[:60])
        for path in (b"/v1/ingest", b"/v1/ingest/stream", b"/v1/scopes/s", b"/mcp", b"/mcp/", b"/readyz"):
            for headers, body in BODIES:
                request = b"POST " + path + ends + headers + b"\r\n\r\n" + body
                assert await status_of(url, request) < 500, (path, headers, body[:40])
        assert await status_of(url, b"GET /readyz" + ends + b"\r\n") == 200


async def test_what_is_asked_of_mcp_has_limits_too(served: Serve) -> None:
    async with (
        served(max_body=200_000, max_line=1000, body_deadline_ms=700, run=False) as (_, server),
        wire(server.url()) as client,
    ):
        headers = headers_of("events/list", {})
        fat = json.dumps(request_of("events/list", {"padding": "x" * 300_000}, 1)).encode()

        async def chunked() -> AsyncGenerator[bytes]:
            for at in range(0, len(fat), 10_000):
                yield fat[at : at + 10_000]

        for content in (fat, chunked()):
            answer = await client.client.post("/mcp", content=content, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")
        zipped = {**headers, "content-encoding": "gzip"}
        answer = await client.client.post("/mcp", content=gzip.compress(fat), headers=zipped)
        assert answer.status_code == 413
        fit = gzip.compress(json.dumps(request_of("events/list", {}, 1)).encode())
        answer = await client.client.post("/mcp", content=fit, headers=zipped)
        assert answer.status_code == 200
        assert "attention.decision" in answer.text
        request = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"
        assert await status_of(httpx.URL(server.url()), request) == 408


async def test_what_gzip_expands_to_side_by_side_is_bounded_too() -> None:
    flight, small = Flight(8 * MIB, 100), gzip.compress(bytes(15 * MIB))

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": small, "more_body": False}

    async def refused() -> bool:
        with flight.board() as ticket:
            try:
                headers = {"headers": [(b"content-encoding", b"gzip")]}
                await read_body(headers, receive, ticket, max_body=16 * MIB, deadline_ms=60_000)  # type: ignore[arg-type]
            except Refused as error:
                return error.status == 429
        return False

    tracemalloc.start()
    try:
        told = await asyncio.gather(*(refused() for _ in range(20)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(told) >= 15
    assert peak < 100 * MIB
    assert flight.bytes == 0
