"""`POST /v1/ingest`: each line's lot, limits that hold before memory does, and answers that claim what committed."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import httpx
import pytest
import redis.asyncio

from attend import Attend
from attend.core.types import Decision, Judgment
from attend.judges.base import JudgeInput
from attend.store.base import ScopeStore
from attend.store.redis import RedisStore
from tests.api.conftest import Serve
from tests.api.wire import Wire, wire
from tests.servers import Server

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


def line(scope: str = "s", **event: Any) -> bytes:
    return json.dumps({"scope": scope, "name": "log.line", **event}).encode()


@pytest.fixture
async def wired(store: ScopeStore, served: Serve) -> AsyncGenerator[tuple[Attend, Wire]]:
    async with served(store) as (app, server), wire(server.url()) as client:
        yield app, client


async def open_ids(app: Attend, scope: str) -> list[str]:
    state = await app.engine.state(scope)
    return [] if state is None else [event.id for event in state.open.events]


async def test_the_counts_add_up_to_the_lines_that_are_not_blank(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    body = b"\n".join(
        [line(id="a"), b"", line(id="a"), b"bad", line(id="b"), line("t"), b'{"scope":"t","flush":true}']
    )
    answer = await client.ingest(body)
    assert answer.status_code == 200
    reply = answer.json()
    assert (reply["accepted"], reply["duplicates"]) == (4, 1)
    assert [(each["line"], each["error"]) for each in reply["rejected"]] == [(4, "bad_json")]
    assert "conflicts" not in reply


async def test_a_known_id_with_other_content_is_a_conflict(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    await client.ingest(line(id="a", text="first"))
    reply = (await client.ingest(line(id="b") + b"\n" + line(id="a", text="second"))).json()
    assert reply == {
        "accepted": 1,
        "duplicates": 1,
        "rejected": [],
        "conflicts": [{"line": 2, "scope": "s", "id": "a"}],
    }


async def test_lines_of_a_scope_keep_their_order(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    ids = [f"{n:04}" for n in range(240)]
    body = b"\n".join(line(f"scope-{n % 2}", id=each) for n, each in enumerate(ids))
    assert (await client.ingest(body)).json()["accepted"] == 240
    assert await open_ids(app, "scope-0") == ids[::2]
    assert await open_ids(app, "scope-1") == ids[1::2]


async def test_a_flush_settles_the_lines_before_it(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    cursor = (await client.poll(None))["cursor"]
    body = b"\n".join([line(id="a"), line(id="b"), b'{"scope":"s","flush":true,"id":"f"}'])
    assert (await client.ingest(body)).json()["accepted"] == 3
    event = (await client.poll(cursor, timeoutMs=20_000))["events"][0]
    assert event["data"]["eventIds"] == ["a", "b"]
    assert event["data"]["reason"] == "forced"
    assert await open_ids(app, "s") == []


async def test_ids_and_instants_are_given_where_they_are_left_out(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    assert (await client.ingest(line() + b"\n" + line())).json()["accepted"] == 2
    first, second = await open_ids(app, "s")
    assert first != second
    state = await app.engine.state("s")
    assert state is not None
    assert all(abs(event.at - event.accepted_at) < 60_000 for event in state.open.events)


async def test_a_large_body_over_one_scope_is_taken_whole(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    body = b"\n".join(line(id=str(n), text="x" * 200) for n in range(3000))
    reply = (await client.ingest(body)).json()
    assert (reply["accepted"], reply["duplicates"], reply["rejected"]) == (3000, 0, [])


async def test_a_kind_function_that_raises_costs_its_own_line(served: Serve) -> None:
    def kind(event: Any) -> str:
        if event.name == "odd":
            raise KeyError("odd")
        return "nonsense" if event.name == "worse" else "consequence"

    async with served(app=Attend(kind=kind)) as (_, server), wire(server.url()) as client:
        body = b"\n".join([line(), line(name="odd"), line(name="worse"), line()])
        reply = (await client.ingest(body)).json()
    assert reply["accepted"] == 2
    assert [(each["line"], each["error"]) for each in reply["rejected"]] == [(2, "bad_kind"), (3, "bad_kind")]


async def test_every_line_separator_of_unicode_comes_back(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    text = "a\u2028b\u2029c\u0085d\x1ce\U0001f600"
    cursor = (await client.poll(None))["cursor"]
    body = json.dumps(
        {"scope": "s", "id": "a", "name": "user.said", "text": text}, ensure_ascii=False
    ).encode()

    async def chunks() -> AsyncGenerator[bytes]:
        for byte in body:  # Cuts the characters apart as well.
            yield bytes([byte])

    assert (await client.client.post("/v1/ingest", content=chunks())).json()["accepted"] == 1
    event = (await client.poll(cursor, timeoutMs=20_000))["events"][0]
    assert text in event["data"]["notice"]
    window = await client.tool("attend_window", decisionId=event["eventId"])
    assert window["events"][0]["text"] == text
    async with client.stream(cursor) as frames:
        [streamed] = await frames.events(1)
    assert text in streamed["data"]["notice"]


async def test_a_bad_line_does_not_spoil_what_is_read_later(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    cursor = (await client.poll(None))["cursor"]
    body = b"\n".join(
        [
            line(id="1"),
            b'{"scope":"s","name":"x","text":"\xff\xfe"}',
            b'{"scope":"s","name":"x","data":{"v":NaN}}',
            b'{"scope":"s","name":"x","data":{"v":1e999}}',
            b'{"scope":"s","name":"x","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            b'{"scope":"s","id":"2","name":"user.said","data":{"n":12345678901234567890.10}}',
        ]
    )
    reply = (await client.ingest(body)).json()
    assert reply["accepted"] == 2
    assert [each["error"] for each in reply["rejected"]] == ["bad_utf8", "bad_json", "bad_json", "too_deep"]
    event = (await client.poll(cursor, timeoutMs=20_000))["events"][0]
    result = await client.result(
        "tools/call", {"name": "attend_window", "arguments": {"decisionId": event["eventId"]}}
    )
    assert '"data":{"n":12345678901234567890.10}' in result["content"][0]["text"]


async def test_a_body_cut_off_is_never_half_taken(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    lines = [line(id=each) for each in "abc"]
    whole = b"\n".join(lines)
    _, writer = await raw(
        client.client.base_url, f"content-length: {len(whole)}", whole[: -len(lines[2]) // 2]
    )
    await anyio.sleep(0.1)
    writer.transport.abort()
    reply = (await client.ingest(whole)).json()
    assert (reply["accepted"], reply["duplicates"]) == (3, 0)
    assert await open_ids(app, "s") == ["a", "b", "c"]


async def test_gzip_is_taken_and_bounded_by_what_it_expands_to(served: Serve) -> None:
    async with served(max_body=4 * MIB) as (_, server), wire(server.url()) as client:
        honest = b"\n".join(line(id=str(n)) for n in range(500))
        reply = await client.ingest(gzip.compress(honest), **{"content-encoding": "gzip"})
        assert reply.json()["accepted"] == 500
        two = gzip.compress(line(id="x") + b"\n") + gzip.compress(line(id="y"))
        assert (await client.ingest(two, **{"content-encoding": "gzip"})).json()["accepted"] == 2

        bomb = gzip.compress((line() + b"\n") * (128 * MIB // 40))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        async def chunked() -> AsyncGenerator[bytes]:
            for at in range(0, len(bomb), 10_000):
                yield bomb[at : at + 10_000]

        async def small() -> None:
            with anyio.fail_after(20):
                assert (await client.ingest(line(id="small"))).status_code == 200

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(small)
            for content in (bomb, chunked()):
                answer = await client.client.post(
                    "/v1/ingest", content=content, headers={"content-encoding": "gzip"}
                )
                assert answer.status_code == 413, answer.text
                assert answer.json()["error"] == "body_too_large"
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 * MIB


@pytest.mark.parametrize(
    ("body", "encoding", "status", "code"),
    [
        (b"not gzip", "gzip", 400, "bad_encoding"),
        (gzip.compress(b"x" * 1000)[:-10], "gzip", 400, "bad_encoding"),
        (b"", "gzip", 400, "bad_encoding"),
        (b"x", "br", 415, "unsupported_encoding"),
    ],
)
async def test_an_encoding_that_cannot_be_read_is_said_so(
    served: Serve, body: bytes, encoding: str, status: int, code: str
) -> None:
    async with served() as (_, server), wire(server.url()) as client:
        answer = await client.ingest(body, **{"content-encoding": encoding})
    assert (answer.status_code, answer.json()["error"]) == (status, code)


async def test_a_body_over_the_limit_is_413_by_its_length_and_by_its_bytes(served: Serve) -> None:
    async with served(max_body=100_000, max_line=1000) as (_, server), wire(server.url()) as client:

        async def endless() -> AsyncGenerator[bytes]:
            for _ in range(40):
                yield b"x" * 10_000

        assert (await client.ingest(b"x" * 100_001)).status_code == 413
        assert (await client.client.post("/v1/ingest", content=endless())).status_code == 413
        reply = (await client.ingest(line(text="x" * 1000) + b"\n" + line())).json()
        assert [each["error"] for each in reply["rejected"]] == ["line_too_long"]
        assert reply["accepted"] == 1


async def raw(url: httpx.URL, head: str, body: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request as bytes, sent; httpx would not look at an answer before it has sent its body."""
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"POST /v1/ingest HTTP/1.1\r\nhost: {url.host}\r\n{head}\r\n\r\n".encode() + body)
    await writer.drain()
    return reader, writer


async def test_a_slow_body_is_408_and_a_full_house_429(served: Serve) -> None:
    async with (
        served(body_deadline_ms=700, max_in_flight_requests=2) as (_, server),
        wire(server.url()) as client,
    ):
        slow = [await raw(client.client.base_url, "content-length: 1000", line()) for _ in range(2)]
        await anyio.sleep(0.2)
        refused = await client.ingest(line())
        assert (refused.status_code, refused.json()["error"]) == (429, "busy")
        assert int(refused.headers["retry-after"]) >= 1
        for reader, writer in slow:
            with anyio.fail_after(20):
                assert b" 408 " in await reader.readline()
            writer.close()
        assert (await client.ingest(line())).status_code == 200


async def test_too_many_bytes_at_once_are_429(served: Serve) -> None:
    async with served(max_in_flight_bytes=50_000) as (_, server), wire(server.url()) as client:
        go_on = anyio.Event()
        first: list[httpx.Response] = []

        async def slow() -> AsyncGenerator[bytes]:
            yield (line() + b"\n") * 1000
            await go_on.wait()
            yield line()

        async def post() -> None:
            first.append(await client.client.post("/v1/ingest", content=slow()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post)
            await anyio.sleep(0.2)
            refused = await client.ingest((line() + b"\n") * 1000)
            assert refused.status_code == 429
            go_on.set()
        assert first[0].json()["accepted"] == 1001


async def test_a_full_outbox_turns_down_its_scope_alone(served: Serve) -> None:
    async def judge(_: JudgeInput) -> Judgment:
        return Judgment("interrupt")

    async def never(_: Decision) -> None:
        await anyio.sleep_forever()

    app = Attend(kind={"user.*": "flush"}, judge=judge, sink=never, settle={"max_outbox": 1})
    async with served(app=app) as (_, server), wire(server.url()) as client:
        cursor = (await client.poll(None))["cursor"]
        await client.ingest(line("full", name="user.said"))
        assert (await client.poll(cursor, timeoutMs=20_000))["events"]
        alone = await client.ingest(line("full", id="x"))
        assert (alone.status_code, alone.json()["error"]) == (429, "outbox_full")
        assert int(alone.headers["retry-after"]) >= 1
        mixed = await client.ingest(line("full", id="x") + b"\n" + line("free", id="x"))
        assert mixed.status_code == 200
        reply = mixed.json()
        assert reply["accepted"] == 1
        [rejection] = reply["rejected"]
        assert (rejection["line"], rejection["error"]) == (1, "outbox_full")
        assert rejection["retryAfterMs"] > 0


async def test_a_store_that_is_away_is_503_and_nothing_is_claimed(
    new_server: Callable[..., Server], served: Serve
) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    app = Attend(store=RedisStore(server.url, timeout_ms=500), patience_ms=1000)
    async with served(app=app, run=False) as (_, http), wire(http.url()) as client:
        assert (await client.ingest(line(id="a"))).json()["accepted"] == 1
        assert (await client.client.get("/readyz")).status_code == 200
        server.kill()
        body = line(id="a") + b"\n" + line(id="b")
        refused = await client.ingest(body)
        assert (refused.status_code, refused.json()["error"]) == (503, "unavailable")
        assert int(refused.headers["retry-after"]) >= 1
        assert "accepted" not in refused.json()
        await anyio.sleep(1.1)
        assert (await client.client.get("/readyz")).status_code == 503
        assert (await client.client.get("/healthz")).status_code == 200
        assert (
            await client.post("events/poll", {"name": "attention.decision", "cursor": "x"})
        ).status_code < 500
        server.start()
        with anyio.fail_after(30):
            while (again := await client.ingest(body)).status_code != 200:
                assert again.status_code == 503
                await anyio.sleep(0.1)
            assert again.json()["accepted"] + again.json()["duplicates"] == 2
            while (await client.client.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - it does not say
                await anyio.sleep(0.2)


async def test_a_store_out_of_memory_is_not_ready_and_503(
    new_server: Callable[..., Server], served: Serve
) -> None:
    server = new_server()
    app = Attend(store=RedisStore(server.url), patience_ms=500)
    async with served(app=app, run=False) as (_, http), wire(http.url()) as client:
        assert (await client.client.get("/readyz")).status_code == 200
        admin: Any = redis.asyncio.Redis(unix_socket_path=server.path)
        async with admin:
            await admin.config_set("maxmemory", "1mb")
            await anyio.sleep(1.1)
            assert (await client.client.get("/readyz")).status_code == 503
            assert (await client.ingest(line())).status_code == 503
            await admin.config_set("maxmemory", "0")
            await anyio.sleep(1.1)
            assert (await client.client.get("/readyz")).status_code == 200
            assert await admin.keys("*:s:") == []


async def test_other_methods_and_paths_are_turned_away_in_json(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    wrong = await client.client.get("/v1/ingest")
    assert (wrong.status_code, wrong.headers["allow"], wrong.json()["error"]) == (
        405,
        "POST",
        "method_not_allowed",
    )
    assert (await client.client.get("/nothing/here")).json()["error"] == "not_found"
    assert (await client.client.get("/mcp")).status_code == 405
    assert (await client.client.delete("/mcp")).status_code == 405
