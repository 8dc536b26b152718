"""Decisions reach the client in order, each once, whatever becomes of the connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from attend import Attend
from attend.api import ApiSettings, Server, serve
from attend.client import START, Client, Occurrence
from attend.errors import AnswerError, UnreachableError
from tests.rig.fleet import free_port
from tests.rig.reader import until
from tests.rig.scripted import Says, scripted

pytestmark = pytest.mark.anyio

MODES: Sequence[Literal["stream", "poll"]] = ("stream", "poll")


def app_of() -> Attend:
    """An app in memory; `user.*` flushes."""
    return Attend(kind={"user.*": "flush"})


@asynccontextmanager
async def served(
    app: Attend, *, port: int = 0, socket: str | None = None, **settings: Any
) -> AsyncGenerator[Server]:
    """An app served, and its runner."""
    server = serve(app, ApiSettings(**settings), port=port, socket=socket)
    try:
        await server.ready()
        yield server
    finally:
        await server.close()


async def say(app: Attend, id: str, scope: str = "s", text: str = "hello") -> None:
    """One event that settles at once."""
    await app.push(scope, [{"name": "user.said", "id": id, "text": text}])


async def take(found: AsyncIterator[Occurrence], count: int) -> list[Occurrence]:
    """The next occurrences."""
    with anyio.fail_after(60):
        return [await anext(found) for _ in range(count)]


def ids(occurrences: list[Occurrence]) -> list[str]:
    """The events they are about."""
    return [id for each in occurrences for id in each.data["eventIds"]]


@pytest.mark.parametrize("mode", MODES)
async def test_from_the_start_and_then_as_they_come(mode: Literal["stream", "poll"]) -> None:
    app = app_of()
    async with app, served(app) as server, Client(server.url()) as client:
        for n in range(3):
            await say(app, f"a{n}", text="a\u2028b\x85c")
            await anyio.sleep(0.05)
        said: list[str] = []
        decisions = client.decisions(START, mode=mode, say=said.append)
        found = aiter(decisions)
        old = await take(found, 3)
        assert ids(old) == ["a0", "a1", "a2"]
        assert "a\u2028b\x85c" in old[0].data["notice"]
        await say(app, "a3")
        assert ids(await take(found, 1)) == ["a3"]
        assert (said, decisions.truncated) == ([], 0)
        await found.aclose()


@pytest.mark.parametrize("mode", MODES)
async def test_from_now_and_on_from_a_cursor(mode: Literal["stream", "poll"]) -> None:
    app = app_of()
    async with app, served(app, poll_ms=50) as server, Client(server.url()) as client:
        await say(app, "old")
        await anyio.sleep(0.2)
        decisions = client.decisions(mode=mode)
        got: list[Occurrence] = []
        async with aclosing(aiter(decisions)) as found, anyio.create_task_group() as tasks:

            async def later() -> None:
                await until(lambda: decisions.cursor is not None)
                await say(app, "b0")

            tasks.start_soon(later)
            got += await take(found, 1)
        assert ids(got) == ["b0"]
        await say(app, "b1")
        async with aclosing(aiter(client.decisions(got[0].cursor or decisions.cursor, mode=mode))) as again:
            assert ids(await take(again, 1))[0] in {"b0", "b1"}


async def test_it_connects_again_and_goes_on_where_it_was() -> None:
    app, port = app_of(), free_port()
    said: list[str] = []
    async with app, Client(f"http://127.0.0.1:{port}") as client:
        found = aiter(client.decisions(START, say=said.append))
        async with served(app, port=port, heartbeat_ms=100):
            await say(app, "a0")
            assert ids(await take(found, 1)) == ["a0"]
        async with served(app, port=port):
            await say(app, "a1")
            assert ids(await take(found, 1)) == ["a1"]
        await found.aclose()
    assert said[-1] == "connected again"
    assert "connecting again" in said[0]


async def test_only_what_was_asked_for_comes() -> None:
    app = app_of()
    async with app, served(app) as server, Client(server.url()) as client:
        await say(app, "a", scope="other")
        await say(app, "b", scope="ops/db")
        found = aiter(client.decisions(START, scope_prefix="ops/", routes={"interrupt"}))
        assert ids(await take(found, 1)) == ["b"]
        await found.aclose()
        with pytest.raises(AnswerError):
            await take(aiter(client.decisions(routes={"no such route"})), 1)


async def test_a_token_and_a_socket(tmp_path: Path) -> None:
    app, path = app_of(), str(tmp_path / "s")
    async with app, served(app, socket=path, token="t"):
        await say(app, "a")
        async with Client(f"unix:{path}", "t") as client:
            assert ids(await take(aiter(client.decisions(START)), 1)) == ["a"]
            assert (await client.ingest(['{"scope":"s","name":"log"}'])).accepted == 1
            report = await client.scope("s")
            assert report is not None
            assert report.open.event_count == 1
            assert await client.scope("..") is None
        async with Client(uds=path) as nobody:
            with pytest.raises(AnswerError, match="401"):
                await take(aiter(nobody.decisions()), 1)
            with pytest.raises(AnswerError, match="401"):
                await nobody.scope("s")


async def test_a_server_that_is_not_there() -> None:
    async with Client(f"http://127.0.0.1:{free_port()}") as client:
        with pytest.raises(UnreachableError):
            await take(aiter(client.decisions()), 1)
        with pytest.raises(UnreachableError):
            await client.scope("s")
    with pytest.raises(ValueError, match="no URL"):
        Client("localhost:8787")


async def test_a_server_without_streams_is_polled_and_a_repeat_is_passed_over() -> None:
    def page(*names: str) -> Says:
        events = [{"eventId": name, "timestamp": "t", "data": {"eventIds": [name]}} for name in names]
        result = {"events": events, "cursor": names[-1], "truncated": False, "hasMore": True}
        return Says(body={"jsonrpc": "2.0", "id": 1, "result": result})

    none = Says(body={"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}})
    later = Says(
        body={
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32603, "message": "x", "data": {"retryAfterMs": 1}},
        }
    )
    async with (
        scripted(none, page("a", "b"), later, page("b", "c"), page("d")) as server,
        Client(server.url) as client,
    ):
        found = aiter(client.decisions("start"))
        assert ids(await take(found, 4)) == ["a", "b", "c", "d"]
        await found.aclose()
    assert b'"cursor":"b"' in server.bodies[2].replace(b" ", b"")
