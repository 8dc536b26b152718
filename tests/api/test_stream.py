"""`POST /v1/ingest/stream`: what is acknowledged has committed, and nothing is held that need not be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

import anyio
import pytest

from attend import Attend
from attend.core.types import Decision, Judgment
from attend.judges.base import JudgeInput
from attend.store.base import ScopeStore
from attend.store.redis import RedisStore
from tests.api.conftest import Serve
from tests.api.test_ingest import line, open_ids
from tests.api.wire import wire
from tests.rig.lines_open import counts, open_lines
from tests.rig.reader import until
from tests.servers import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def at(store: ScopeStore, served: Serve) -> AsyncGenerator[tuple[Attend, str]]:
    """An app and its URL."""
    async with served(store) as (app, server):
        yield app, server.url()


def nd(*lines: bytes) -> bytes:
    return b"".join(each + b"\n" for each in lines)


async def test_a_line_is_acknowledged_while_the_request_is_open(at: tuple[Attend, str]) -> None:
    app, url = at
    async with open_lines(url) as stream:
        assert stream.status == 200
        assert "no-transform" in stream.head["cache-control"]
        assert stream.frames == [{"credits": 1000}]
        for n in range(1, 6):
            await stream.send(nd(line(id=str(n))))
            [ack] = await stream.ack(n)
            assert ack == {"ack": n, "accepted": 1, "duplicates": 0, "rejected": [], "credits": 1}
            assert await open_ids(app, "s") == [str(each) for each in range(1, n + 1)]
        await stream.end()
        assert await stream.frame() is None


async def test_a_decision_appears_while_the_request_is_open(at: tuple[Attend, str]) -> None:
    _, url = at
    async with wire(url) as client, open_lines(url) as stream:
        cursor = (await client.poll(None))["cursor"]
        await stream.send(nd(line(id="a"), line(id="b", name="user.said")))
        page = await client.poll(cursor, timeoutMs=20_000)
        assert page["events"][0]["data"]["eventIds"] == ["a", "b"]


async def test_each_line_has_its_lot_under_its_number(at: tuple[Attend, str]) -> None:
    app, url = at
    async with open_lines(url) as stream:
        await stream.send(b"\xef\xbb\xbf" + nd(line(id="a"), b"", line(id="a"), b"bad"))
        await stream.ack(4)
        await stream.send(
            nd(b"\xef\xbb\xbf" + line(), line(id="a", text="other"), b'{"scope":"s","end":true}')
        )
        await stream.ack(7)
        await stream.send(nd(b" ", b"\t"))
        acks = await stream.ack(9)
        assert (acks[-1]["accepted"], acks[-1]["rejected"]) == (0, [])
    assert counts(stream.frames) == (2, 2, 2)
    rejected = [
        (each["line"], each["error"]) for frame in stream.frames for each in frame.get("rejected", [])
    ]
    assert rejected == [(4, "bad_json"), (5, "bad_json")]
    conflicts = [each for frame in stream.frames for each in frame.get("conflicts", [])]
    assert conflicts == [{"line": 6, "scope": "s", "id": "a"}]
    assert sum(frame["credits"] for frame in stream.frames) == 1000 + 9
    assert app is not None


async def test_the_last_line_needs_no_newline_where_the_body_ends_as_it_should(
    at: tuple[Attend, str],
) -> None:
    app, url = at
    async with open_lines(url) as stream:
        await stream.send(line(id="a")[:10])
        await stream.send(line(id="a")[10:])
        await stream.end()
        await stream.ack(1)
        assert await stream.frame() is None
    assert await open_ids(app, "s") == ["a"]
    async with open_lines(url) as stream:
        await stream.send(line(id="b")[:-5])
        await stream.end()
        [ack] = await stream.ack(1)
        assert [each["error"] for each in ack["rejected"]] == ["bad_json"]


async def test_half_a_line_at_the_end_never_becomes_an_event(at: tuple[Attend, str]) -> None:
    app, url = at
    async with open_lines(url) as stream:
        await stream.send(nd(line(id="a")))
        await stream.ack(1)
        await stream.send(nd(line(id="b")) + line(id="half"))  # Whole but for its newline: nobody can know.

        async def taken() -> bool:
            return "b" in await open_ids(app, "s")

        await until(taken)
        stream.cut()
    async with open_lines(url) as stream:
        await stream.send(nd(line(id="b"), line(id="c")))
        await stream.ack(2)
    assert counts(stream.frames) == (1, 1, 0)
    assert await open_ids(app, "s") == ["a", "b", "c"]


async def test_a_line_that_is_too_long_is_let_go_of_as_it_comes(served: Serve) -> None:
    async with served(max_line=1000) as (app, server), open_lines(server.url()) as stream:
        await stream.send(nd(line(id="a")) + b'{"x":"')
        for _ in range(100):
            await stream.send(b"x" * 50_000)
        await stream.send(b'"}\n' + nd(line(id="b")))
        await stream.ack(3)
        rejected = [each for frame in stream.frames for each in frame.get("rejected", [])]
        assert [(each["line"], each["error"]) for each in rejected] == [(2, "line_too_long")]
        assert await open_ids(app, "s") == ["a", "b"]


async def test_who_sends_more_than_its_credits_is_held_back(served: Serve) -> None:
    async with served(stream_credits=3) as (_, server), open_lines(server.url()) as stream:
        assert stream.frames == [{"credits": 3}]
        lines = [line(id=str(n), text="x" * 3000) for n in range(2000)]
        sending = asyncio.create_task(stream.send(nd(*lines)))
        await stream.ack(2000)
        await sending
    assert counts(stream.frames) == (2000, 0, 0)


async def test_a_slow_reader_of_acknowledgements_is_held_back_and_not_buffered_for(served: Serve) -> None:
    async with served() as (_, server), open_lines(server.url()) as stream:
        # A bad line is answered with many times its own size.
        sent = 0

        async def send() -> None:
            nonlocal sent
            while True:
                await stream.send(b"bad\n" * 1000)
                sent += 1000

        sending = asyncio.create_task(send())
        before = -1
        with anyio.fail_after(60):
            while before != sent:
                before = sent
                await anyio.sleep(0.5)
        # What the system's own buffers take is all that went: it would never end otherwise.
        assert sent < 10_000_000
        with anyio.fail_after(60):
            while sent == before:
                assert await stream.frame() is not None
        sending.cancel()
        await asyncio.wait([sending])
        assert all("error" not in frame for frame in stream.frames)


async def test_a_full_outbox_turns_lines_down_and_the_stream_goes_on(served: Serve) -> None:
    async def judge(_: JudgeInput) -> Judgment:
        return Judgment("interrupt")

    async def never(_: Decision) -> None:
        await anyio.sleep_forever()

    app = Attend(kind={"user.*": "flush"}, judge=judge, sink=never, settle={"max_outbox": 1})
    async with (
        served(app=app) as (_, server),
        wire(server.url()) as client,
        open_lines(server.url()) as stream,
    ):
        cursor = (await client.poll(None))["cursor"]
        await stream.send(nd(line("full", name="user.said")))
        assert (await client.poll(cursor, timeoutMs=20_000))["events"]
        await stream.send(nd(line("full", id="x"), line("free", id="x")))
        acks = await stream.ack(3)
        [rejection] = [each for ack in acks for each in ack["rejected"]]
        assert (rejection["line"], rejection["error"]) == (2, "outbox_full")
        assert rejection["retryAfterMs"] > 0


async def test_a_store_that_is_away_ends_it_and_what_was_not_acknowledged_may_be_sent_again(
    new_server: Callable[..., Server], served: Serve
) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    app = Attend(store=RedisStore(server.url, timeout_ms=500), patience_ms=1000)
    async with served(app=app, run=False) as (_, http):
        async with open_lines(http.url()) as stream:
            await stream.send(nd(line(id="a")))
            await stream.ack(1)
            server.kill()
            await stream.send(nd(line(id="b"), line(id="c")))
            end = await stream.error()
            assert (end["error"], end["ack"]) == ("unavailable", 1)
            assert end["retryAfterMs"] > 0
            await stream.end()
            assert await stream.frame() is None
        server.start()
        with anyio.fail_after(30):
            while True:
                async with open_lines(http.url()) as stream:
                    await stream.send(nd(line(id="a"), line(id="b"), line(id="c")))
                    await stream.end()
                    while await stream.frame() is not None:
                        pass
                    if "error" not in stream.frames[-1]:
                        break
        accepted, duplicates, rejected = counts(stream.frames)
        assert (accepted + duplicates, rejected) == (3, 0)
        assert await open_ids(app, "s") == ["a", "b", "c"]


async def test_an_idle_stream_hears_that_it_lives_until_it_is_closed(served: Serve) -> None:
    async with (
        served(heartbeat_ms=200, stream_idle_ms=1500) as (_, server),
        open_lines(server.url()) as stream,
    ):
        began = time.monotonic()
        end = await stream.error()
        assert end["error"] == "idle"
        assert time.monotonic() - began > 1  # It was idle for some time before this began.
        assert len(stream.frames) > 4
        assert all(frame == {"credits": 0} for frame in stream.frames[1:-1])


async def test_a_line_that_does_not_end_is_timed_out(served: Serve) -> None:
    async with served(body_deadline_ms=700) as (app, server), open_lines(server.url()) as stream:
        for _ in range(3):
            await stream.send(nd(line()))
            await anyio.sleep(0.3)

        async def trickle() -> None:
            for byte in line(id="slow"):
                await stream.send(bytes([byte]))
                await anyio.sleep(0.1)

        trickling = asyncio.create_task(trickle())
        end = await stream.error()
        assert (end["error"], end["ack"]) == ("line_timeout", 3)
        trickling.cancel()
        await asyncio.wait([trickling])
        assert "slow" not in await open_ids(app, "s")


async def test_closing_says_where_to_go_on(served: Serve) -> None:
    async with served() as (app, server), open_lines(server.url()) as stream:
        await stream.send(nd(line(id="a"), line(id="b")) + line(id="half"))
        await stream.ack(2)
        began = time.monotonic()
        closing = asyncio.create_task(server.close())
        end = await stream.error()
        assert (end["error"], end["ack"], end["retryAfterMs"]) == ("shutting_down", 2, 0)
        await stream.end()
        assert await stream.frame() is None
        await closing
        assert time.monotonic() - began < 5
        assert await open_ids(app, "s") == ["a", "b"]


async def test_a_stream_nobody_reads_does_not_hold_up_the_end(served: Serve) -> None:
    async with served(shutdown_grace_ms=1500) as (_, server), open_lines(server.url()) as stream:
        stream.write(b"bad\n" * 200_000)
        await anyio.sleep(1)
        began = time.monotonic()
        await server.close()
        assert time.monotonic() - began < 5
