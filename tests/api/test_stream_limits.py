"""`POST /v1/ingest/stream`: who may, how much may be in hand, and how fast it may come."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.api.conftest import Serve
from tests.api.test_ingest import line
from tests.api.test_stream import nd
from tests.api.wire import wire
from tests.rig.lines_open import open_lines
from tests.rig.reader import until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 401),
        (("authorization: Bearer wrong",), 401),
        (("authorization: Bearer t", "content-encoding: gzip"), 415),
        (("authorization: Bearer t", "origin: http://evil.example"), 403),
        (("authorization: Bearer t",), 200),
        (("authorization: bearer t", "expect: 100-continue"), 100),
    ],
)
async def test_who_may_not_is_told_before_anything_is_read(
    served: Serve, headers: tuple[str, ...], status: int
) -> None:
    async with served(token="t", run=False) as (_, server), open_lines(server.url(), *headers) as stream:
        assert stream.status == status
    async with served(token="t", run=False) as (_, server), httpx.AsyncClient() as client:
        url = f"{server.url()}/v1/ingest/stream"
        answer = await client.get(url, headers={"authorization": "Bearer t"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_open_streams_count_by_the_bytes_they_hold(served: Serve) -> None:
    limits = {"max_in_flight_requests": 2, "max_in_flight_bytes": 100_000, "body_deadline_ms": 4000}
    async with served(**limits) as (_, server), wire(server.url()) as client:
        async with (
            open_lines(server.url()) as first,
            open_lines(server.url()) as second,
            open_lines(server.url()) as third,
        ):
            for stream in (first, second, third):
                await stream.send(nd(line()))
                await stream.ack(1)
            assert (await client.ingest(line())).status_code == 200
            half = b'{"scope":"s","name":"n","text":"' + b"x" * 70_000
            await first.send(half)
            await second.send(half)

            async def is_busy() -> bool:
                return (await client.ingest(line())).status_code == 429

            await until(is_busy)
            # The third is held back until there is room.
            await third.send(nd(line()))
            await first.send(b'"}\n')
            await second.send(b'"}\n')
            for stream in (first, second, third):
                await stream.ack(2)
        assert (await client.ingest(line())).status_code == 200


async def test_a_principal_sends_no_faster_than_its_rate(served: Serve) -> None:
    async with served(rate=100, token="t") as (_, server), wire(server.url(), "t") as client:
        began = time.monotonic()
        assert (await client.ingest(nd(*[line()] * 150))).json()["accepted"] == 150
        refused = await client.ingest(line())
        assert (refused.status_code, refused.json()["error"]) == (429, "rate_limited")
        assert 0 < refused.json()["retryAfterMs"] <= 1000
        assert refused.headers["retry-after"] == "1"
        async with open_lines(server.url(), "authorization: Bearer t") as stream:
            for n in range(3):
                await stream.send(nd(*[line()] * 60))
                await stream.ack(60 * (n + 1))
        # 150 and 180 lines, of which the last 60 go as soon as the debt of those before is paid.
        assert time.monotonic() - began > (150 + 120 - 100) / 100 - 0.1
