"""A source through trouble: restarts, silence, a slow store, an ended subscription."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from attend import Taken
from attend.errors import PermanentError, StoreUnavailableError
from attend.mcp import HttpServer, mcp_events_source
from tests.mcp.conftest import Heard, until
from tests.rig.events_server import NAME, Asked, EventsServer, Fault, Story

pytestmark = pytest.mark.anyio

Messages = AsyncIterator[dict[str, Any] | bytes]


async def test_a_server_that_was_restarted_is_asked_on_from_the_cursor(heard: Heard) -> None:
    story = Story()
    async with (
        EventsServer(stream=story.stream) as server,
        heard.attached(mcp_events_source(server.url, NAME)),
    ):
        await until(lambda: server.open)
        story.tell(3)
        await heard.met(["e1", "e2", "e3"])
        await server.stop()
        story.tell(3)
        await until(heard.failures)
        await server.start()
        await heard.met([f"e{number}" for number in range(1, 7)])
    assert server.methods("events/stream")[-1].cursor == "3"


async def test_what_comes_again_is_taken_once(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        first = 1 if asked.cursor is None else 3
        yield asked.note("active", cursor="0", truncated=False)
        for number in range(first, first + 3):
            yield asked.event(number)
        if asked.cursor is None:
            yield asked.end()
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server, heard.attached(mcp_events_source(server.url, NAME)):
        await heard.met(["e1", "e2", "e3", "e4", "e5"])
    assert server.methods("events/stream")[1].cursor == "3"


async def test_a_server_that_does_not_know_us_any_more_is_no_silence(heard: Heard) -> None:
    def stream(asked: Asked) -> Messages:
        raise Fault(-32001, "Session not found", status=404)

    async with EventsServer(stream=stream) as server:
        with pytest.raises(PermanentError, match="Session not found"):
            await heard.app.attach("s", mcp_events_source(server.url, NAME))


async def test_a_terminated_stream_is_asked_for_again(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor=asked.cursor or "0", truncated=False)
        if asked.cursor is None:
            yield asked.event(1)
            yield asked.note("terminated", error={"code": -32024, "message": "revoked"})
            yield asked.end()
        else:
            yield asked.event(2)
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server:
        source = mcp_events_source(server.url, NAME, on_error=heard.troubles.append)
        async with heard.attached(source):
            await heard.met(["e1", "e2"])
    assert heard.kinds() == ["terminated"]
    assert server.methods("events/stream")[1].cursor == "1"


async def test_a_silent_stream_is_opened_again(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor=asked.cursor or "0", truncated=False)
        if asked.cursor is not None:
            yield asked.event(1)
        while True:
            yield b": ping"
            await asyncio.sleep(0.1)

    async with EventsServer(stream=stream) as server:
        source = mcp_events_source(server.url, NAME, idle_timeout_ms=700, on_error=heard.troubles.append)
        async with heard.attached(source):
            await heard.met(["e1"])
    assert heard.kinds()[0] == "idle"


async def test_a_dead_link_is_noticed_by_its_silence(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor=asked.cursor or "0", truncated=False)
        if asked.cursor is not None:
            yield asked.event(1)
        await asyncio.sleep(60)

    async with (
        EventsServer(stream=stream) as server,
        HttpServer(server.url, silence_ms=500) as link,
        heard.attached(mcp_events_source(link, NAME)),
    ):
        await heard.met(["e1"])
    assert "did not answer in time" in heard.failures()[0]


async def test_a_store_slower_than_the_stream_loses_nothing() -> None:
    slow = asyncio.Event()
    committed: list[str] = []
    cursors: list[str | None] = []
    troubles: list[str] = []

    async def emit(events: Any, cursor: str | None, *, gap: bool = False) -> Taken:
        found = list(events)
        if found:
            await slow.wait()
        committed.extend(event["id"] for event in found)
        cursors.append(cursor)
        return Taken(len(found))

    story = Story()
    async with EventsServer(stream=story.stream) as server:
        source = mcp_events_source(
            server.url, NAME, max_buffered=20, on_error=lambda trouble: troubles.append(trouble.kind)
        )
        task = asyncio.create_task(source.run("0", emit))
        await until(lambda: server.open)
        story.tell(1)
        await asyncio.sleep(0.1)
        story.tell(99)
        await asyncio.sleep(2.5)
        slow.set()
        await until(lambda: committed and committed[-1] == "e100", 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "overflow" in troubles
    assert list(dict.fromkeys(committed)) == [f"e{number}" for number in range(1, 101)]
    assert [int(cursor or 0) for cursor in cursors] == sorted(int(cursor or 0) for cursor in cursors)


async def test_a_burst_is_no_overflow_where_the_store_is_well(heard: Heard) -> None:
    story = Story()
    async with EventsServer(stream=story.stream) as server:
        source = mcp_events_source(server.url, NAME, max_buffered=5, on_error=heard.troubles.append)
        async with heard.attached(source):
            await until(lambda: server.open)
            story.tell(200)
            await heard.met([f"e{number}" for number in range(1, 201)])
    assert heard.kinds() == []


async def test_a_store_that_is_away_has_it_go_on_from_what_was_committed(heard: Heard) -> None:
    story = Story()
    commit = heard.store.commit
    away = True

    async def failing(writes: Any) -> Any:
        if away:
            raise StoreUnavailableError("away")
        return await commit(writes)

    async with EventsServer(poll=story.poll) as server:
        source = mcp_events_source(server.url, NAME, poll_ms=10)
        async with heard.attached(source):
            await heard.read_to(source, "0")
            heard.store.commit = failing  # type: ignore[method-assign]
            story.tell(3)
            await until(heard.failures, 60)
            away = False
            await heard.met(["e1", "e2", "e3"])


async def test_a_token_and_headers_are_sent(heard: Heard) -> None:
    story = Story()
    async with (
        EventsServer(poll=story.poll) as server,
        HttpServer(server.url, "secret", headers={"x-team": "shop"}) as link,
        heard.attached(mcp_events_source(link, NAME)),
    ):
        await until(lambda: server.methods("events/poll"))
    headers = server.asked[-1].headers
    assert (headers["authorization"], headers["x-team"]) == ("Bearer secret", "shop")
    assert (headers["mcp-method"], headers["mcp-protocol-version"]) == ("events/poll", "2026-07-28")


async def test_several_sources_share_a_server(heard: Heard) -> None:
    story = Story()
    async with EventsServer(stream=story.stream) as server, HttpServer(server.url) as link:
        one, two = (mcp_events_source(link, NAME, {"repo": repo}) for repo in "ab")
        async with heard.attached(one), heard.attached(two):
            await until(lambda: server.open == 2)
            story.tell(1)
            await heard.met(["e1"])
            await heard.read_to(one, "1")
            await heard.read_to(two, "1")


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no URL of an MCP server"):
        HttpServer("events.example")
