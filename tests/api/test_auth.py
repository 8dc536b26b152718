"""Tokens, hosts and origins: who is turned away, and that nobody gets a 500 for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest

from attend import Attend
from attend.api import ApiSettings, serve
from attend.errors import ConfigError
from tests.api.conftest import Serve
from tests.api.wire import Wire, wire

pytestmark = pytest.mark.anyio

TOKEN = "s3cret"
LINE = b'{"scope":"s","name":"n"}'
PATHS = [("POST", "/v1/ingest"), ("POST", "/mcp"), ("GET", "/mcp")]


async def ask(url: str, method: str, path: str, *headers: tuple[bytes, bytes]) -> tuple[int, dict[str, str]]:
    """A request by hand, with headers that a client library would not send; its status and headers."""
    parts = httpx.URL(url)
    reader, writer = await asyncio.open_connection(parts.host, parts.port)
    given = {name for name, _ in headers}
    lines = [b"%s %s HTTP/1.1" % (method.encode(), path.encode())]
    if b"host" not in given:
        lines.append(b"host: %s:%d" % (parts.host.encode(), parts.port or 80))
    lines += [name + b": " + value for name, value in headers if name != b"host" or value]
    lines += [b"content-length: 0", b"connection: close", b"", b""]
    writer.write(b"\r\n".join(lines))
    await writer.drain()
    head = (await reader.read()).partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    writer.close()
    pairs = (line.partition(": ") for line in head[1:])
    return int(head[0].split()[1]), {name.lower(): value for name, _, value in pairs}


@asynccontextmanager
async def guarded(served: Serve) -> AsyncGenerator[str]:
    async with served(token=TOKEN, run=False) as (_, server):
        yield server.url()


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize(
    "values",
    [
        [],
        [b""],
        [b"Bearer"],
        [b"Bearer "],
        [b"Bearer caf\xe9"],
        [b"Bearer caf\xc3\xa9"],
        [b"Bearer wrong"],
        [b"Basic s3cret"],
        [b"s3cret"],
        [b"Bearer s3cret2"],
        [b"Bearer s3cret", b"Bearer s3cret"],
        [b"Bearer " + b"x" * 65_536],
    ],
)
async def test_without_the_token_it_is_401(
    served: Serve, method: str, path: str, values: list[bytes]
) -> None:
    async with guarded(served) as url:
        status, headers = await ask(url, method, path, *((b"authorization", value) for value in values))
    assert status == 401
    assert headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "BeArEr"])
async def test_the_scheme_may_be_written_in_any_case(served: Serve, scheme: str) -> None:
    async with guarded(served) as url, wire(url) as client:
        header = {"authorization": f"{scheme} {TOKEN}"}
        assert (await client.ingest(LINE, **header)).json()["accepted"] == 1
        assert (await client.post("events/list", headers=header)).status_code == 200
        assert (await client.client.get("/mcp", headers=header)).status_code == 405


async def test_a_token_need_not_be_ascii(served: Serve) -> None:
    async with served(token="p\u00e4ss", run=False) as (_, server), wire(server.url()) as client:
        assert (await client.ingest(LINE, authorization="Bearer pass")).status_code == 401
        good = await client.client.post(
            "/v1/ingest", content=LINE, headers=[(b"authorization", "Bearer p\u00e4ss".encode())]
        )
        assert good.status_code == 200


async def test_health_needs_no_token(served: Serve) -> None:
    async with guarded(served) as url, wire(url) as client:
        for path in ("/healthz", "/readyz"):
            assert (await client.client.get(path)).status_code == 200


async def test_the_token_is_in_no_log(served: Serve, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with guarded(served) as url, wire(url, TOKEN) as client:
            await client.ingest(LINE)
            await client.ingest(LINE, authorization="Bearer other-s3cret")
            await client.result("events/list")
    assert "s3cret" not in caplog.text


async def with_host(client: Wire, host: str | None = None, **headers: str) -> list[int]:
    if host is not None:
        headers["host"] = host
    answers = [
        await client.client.get("/healthz", headers=headers),
        await client.ingest(LINE, **headers),
        await client.post("events/list", headers=headers),
    ]
    return [answer.status_code for answer in answers]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:8787", 200),
        ("[::1]:8787", 200),
        ("attend.internal", 200),
        ("attend.internal:443", 200),
        ("only.here:99", 200),
        ("only.here:98", 421),
        ("example.com", 421),
        ("localhost.example.com", 421),
        ("localhost:80@evil.example", 421),
        ("10.0.0.7", 421),
    ],
)
async def test_the_host_must_be_one_it_is_known_by(served: Serve, host: str, status: int) -> None:
    async with (
        served(hosts=("attend.internal", "Only.Here:99"), run=False) as (_, server),
        wire(server.url()) as client,
    ):
        assert await with_host(client, host) == [status] * 3


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("https://attend.internal", 200),
        ("http://evil.example", 403),
        ("https://localhost.evil.example", 403),
        ("null", 403),
        ("file://localhost", 403),
    ],
)
async def test_pages_of_other_origins_are_turned_away(served: Serve, origin: str, status: int) -> None:
    async with served(hosts=("attend.internal",), run=False) as (_, server), wire(server.url()) as client:
        assert await with_host(client, origin=origin) == [status] * 3


async def test_two_hosts_or_none_are_turned_away(served: Serve) -> None:
    async with served(run=False) as (_, server):
        two = await ask(server.url(), "GET", "/healthz", (b"host", b"localhost"), (b"host", b"localhost"))
        assert two[0] in (400, 421)
        assert (await ask(server.url(), "GET", "/healthz", (b"host", b"")))[0] in (400, 421)


async def test_another_address_than_loopback_needs_a_token() -> None:
    app = Attend()
    for host in ("0.0.0.0", "::", "192.0.2.1", "attend.example"):
        with pytest.raises(ConfigError, match="token"):
            serve(app, host=host, port=0)
    server = serve(app, ApiSettings(token=TOKEN, hosts=("127.0.0.1",)), host="0.0.0.0", port=0)
    try:
        await server.ready()
        async with httpx.AsyncClient() as client:
            url = server.url().replace("0.0.0.0", "127.0.0.1")
            assert (await client.get(f"{url}/healthz")).status_code == 200
    finally:
        await server.close()
        await app.close()
