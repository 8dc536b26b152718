"""A client's stream: every line is taken once, whatever becomes of the connection, and its sender hears of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from attend import Attend
from attend.api import ApiSettings, serve
from attend.client import Client, IngestReply
from attend.core.types import Decision, Judgment
from attend.errors import AnswerError, UnreachableError
from attend.judges.base import JudgeInput
from attend.store.redis import RedisStore
from tests.proxy import Proxy
from tests.rig.reader import until
from tests.rig.scripted import Says, scripted
from tests.servers import Server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(app: Attend, socket: Path, **settings: int) -> AsyncGenerator[str]:
    """An app on a unix socket; its URL."""
    server = serve(app, ApiSettings(**settings), socket=str(socket))  # type: ignore[arg-type]
    try:
        await server.ready()
        yield server.url()
    finally:
        await server.close()


async def open_ids(app: Attend, scope: str = "s") -> list[str]:
    state = await app.engine.state(scope)
    return [] if state is None else [event.id for event in state.open.events]


def event(id: str, scope: str = "s") -> dict[str, str]:
    return {"scope": scope, "id": id, "name": "n"}


async def test_lines_are_taken_as_they_come_and_told_under_their_numbers(tmp_path: Path) -> None:
    told: list[tuple[IngestReply, Sequence[int]]] = []
    async with Attend() as app, served(app, tmp_path / "s", stream_credits=4) as url, Client(url) as client:
        async with client.stream(on_reply=lambda reply, numbers: told.append((reply, numbers))) as stream:
            assert await stream.send(event("a")) == 1
            await stream.settle()
            assert await open_ids(app) == ["a"]
            assert await stream.send(b" \n") == 0
            for n in range(20):
                await stream.send(event(f"b{n}"))
            assert await stream.send(b"bad") == 22
            assert await stream.send(event("a")) == 23
        assert (stream.reply.accepted, stream.reply.duplicates, stream.waiting) == (21, 1, [])
        assert [(each.line, each.error) for each in stream.reply.rejected] == [(22, "bad_json")]
        assert await open_ids(app) == ["a", *(f"b{n}" for n in range(20))]
    assert [number for _, numbers in told for number in numbers] == list(range(1, 24))
    assert sum(reply.accepted for reply, _ in told) == 21


async def test_a_connection_that_breaks_costs_and_repeats_nothing(tmp_path: Path) -> None:
    ids = [f"{n:03}" for n in range(240)]
    async with Attend() as app, served(app, tmp_path / "s"), Proxy(str(tmp_path / "s")) as proxy:
        async with Client(proxy.url.replace("redis", "http")) as client, client.stream() as stream:

            async def cut() -> None:
                for _ in range(5):
                    await anyio.sleep(0.15)
                    proxy.cut()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cut)
                for id in ids:
                    await stream.send({"scope": "s", "name": "n", "id": id})
                    await anyio.sleep(0.004)
            await stream.send({"scope": "s", "name": "without an id"})
        reply = stream.reply
        found = await open_ids(app)
        assert found[:-1] == ids
        assert len(found) == 241
        assert reply.accepted + reply.duplicates == 241
        assert reply.duplicates <= reply.resent
        assert proxy.connections > 1


async def test_it_goes_on_at_the_next_server_where_one_shut_down(tmp_path: Path) -> None:
    waits: list[str] = []
    async with Attend() as app, Client(uds=str(tmp_path / "s")) as client:
        async with client.stream(on_wait=lambda why, _: waits.append(why)) as stream:
            async with served(app, tmp_path / "s"):
                await stream.send(event("a"))
                await stream.settle()
            await stream.send(event("b"))
            await until(lambda: bool(waits))
            async with served(app, tmp_path / "s"):
                await stream.send(event("c"))
                assert (await stream.settle()).accepted == 3
        assert await open_ids(app) == ["a", "b", "c"]


async def test_an_idle_stream_is_opened_again_when_there_is_a_line(tmp_path: Path) -> None:
    waits: list[str] = []
    async with (
        Attend() as app,
        served(app, tmp_path / "s", stream_idle_ms=300) as url,
        Client(url) as client,
        client.stream(on_wait=lambda why, _: waits.append(why)) as stream,
    ):
        for id in "abc":
            await stream.send(event(id))
            await stream.settle()
            await anyio.sleep(0.6)
        assert (stream.reply.accepted, stream.reply.resent, waits) == (3, 0, [])


async def test_a_store_that_was_away_gets_every_line_once(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    waits: list[str] = []
    app = Attend(store=RedisStore(server.url, timeout_ms=500), patience_ms=700)
    async with (
        app,
        served(app, tmp_path / "s") as url,
        Client(url) as client,
        client.stream(on_wait=lambda why, _: waits.append(why)) as stream,
    ):
        await stream.send(event("a"))
        await stream.settle()
        server.kill()
        for id in "bc":
            await stream.send(event(id))
        await until(lambda: any("unavailable" in why for why in waits))
        server.start()
        reply = await stream.settle()
        assert reply.accepted + reply.duplicates == 3
        assert await open_ids(app) == ["a", "b", "c"]


async def test_a_line_that_met_a_full_outbox_is_sent_again_and_then_given_up(tmp_path: Path) -> None:
    free = asyncio.Event()

    async def judge(_: JudgeInput) -> Judgment:
        return Judgment("interrupt")

    async def sink(_: Decision) -> None:
        await free.wait()

    app = Attend(kind={"go": "flush"}, judge=judge, sink=sink, settle={"max_outbox": 1})
    async with app, served(app, tmp_path / "s") as url:
        await app.push("full", [{"id": "first", "name": "go"}])

        async def is_full() -> bool:
            state = await app.engine.state("full")
            return state is not None and len(state.outbox) == 1

        await until(is_full)
        async with Client(url, patience=1.5) as client, client.stream() as stream:
            await stream.send(event("x", "full"))
            await stream.send(event("y", "free"))
        assert stream.reply.accepted == 1
        assert [(each.line, each.error) for each in stream.reply.rejected] == [(1, "outbox_full")]
        async with Client(url) as client, client.stream() as stream:
            await stream.send(event("x", "full"))
            await anyio.sleep(0.3)
            free.set()
        assert (stream.reply.accepted, stream.reply.rejected) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 415, 421])
async def test_what_is_turned_down_for_good_is_an_error_at_once(status: int) -> None:
    says = Says(status, {"error": "some_code", "message": "why"})
    async with scripted(says) as server, Client(server.url) as client:
        with pytest.raises(AnswerError, match=f"{status} some_code: why"):
            async with client.stream() as stream:
                await stream.send(event("a"))


async def test_an_answer_of_something_else_is_an_error() -> None:
    for body in (b"<html>welcome</html>\n", b'{"credits":9}\n{"ack":7,"credits":7}\n'):
        async with scripted(Says(body=body)) as server, Client(server.url) as client:
            with pytest.raises(AnswerError, match="no attend answers"):
                async with client.stream() as stream:
                    await stream.send(event("a"))


async def test_a_server_that_stays_away_ends_the_patience() -> None:
    async with scripted(Says(cut=True)) as server:
        url = server.url
    async with Client(url, patience=0.6) as client:
        stream = client.stream()
        with pytest.raises(UnreachableError, match=r"nothing taken for about 0\.6 s"):
            async with stream:
                await stream.send(event("a"))
        assert stream.waiting == [1]


async def test_leaving_by_an_error_waits_for_nothing() -> None:
    async def leave(client: Client) -> None:
        async with client.stream() as stream:
            await stream.send(event("a"))
            raise KeyError

    async with Client("http://127.0.0.1:1") as client:
        with pytest.raises(KeyError):
            await leave(client)
        with pytest.raises(ValueError, match="line break"):
            async with client.stream() as stream:
                await stream.send("a\nb")
