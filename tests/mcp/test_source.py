"""Another server's events, streamed and polled: each once, in order, from the committed cursor on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from attend.errors import AnswerError, PermanentError
from attend.mcp import mcp_events_source
from attend.testing import fake_clock
from tests.mcp.conftest import Heard, until
from tests.rig.events_server import NAME, Asked, EventsServer, Fault, Story, occurrence

pytestmark = pytest.mark.anyio

Messages = AsyncIterator[dict[str, Any] | bytes]


def numbered(first: int, last: int) -> list[str]:
    """The ids of events."""
    return [f"e{number}" for number in range(first, last + 1)]


async def test_what_is_offered_is_streamed(heard: Heard) -> None:
    story = Story()
    async with EventsServer(poll=story.poll, stream=story.stream) as server:
        source = mcp_events_source(server.url, NAME, {"repo": "acme/shop"})
        assert source.key == 'mcp:repo.activity:{"repo":"acme/shop"}'
        async with heard.attached(source):
            await until(lambda: server.open)
            story.tell(3)
            await heard.met(numbered(1, 3))
            assert await heard.cursor(source) == "3"
        await until(lambda: not server.open)
    asked = server.methods("events/stream")[0]
    assert (asked.params["name"], asked.params["arguments"], asked.cursor) == (
        NAME,
        {"repo": "acme/shop"},
        None,
    )
    assert not server.methods("events/poll")
    state = await heard.app.engine.state("repo:acme/shop")
    assert state is not None
    first = state.open.events[0]
    assert (first.name, first.at, first.data_json, first.text) == (NAME, 1796047726500, b'{"n":1}', None)


async def test_the_cursor_is_committed_before_the_first_event(heard: Heard) -> None:
    story = Story()
    story.tell(7)
    async with EventsServer(stream=story.stream) as server:
        source = mcp_events_source(server.url, NAME)
        async with heard.attached(source):
            await until(lambda: server.open)
            await heard.read_to(source, "7")
        story.tell(2)
        async with heard.attached(source):
            await heard.met(numbered(8, 9))


async def test_a_heartbeat_moves_the_cursor_behind_the_events_before_it(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor="1", truncated=False)
        yield asked.event(2)
        yield asked.note("heartbeat", cursor="9")
        yield asked.note("something-new", cursor=None)
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server:
        source = mcp_events_source(server.url, NAME)
        async with heard.attached(source):
            await heard.met(["e2"])
            await heard.read_to(source, "9")


@pytest.mark.parametrize("code", [-32026, -32014])
async def test_a_stream_that_is_not_offered_after_all_is_polled(heard: Heard, code: int) -> None:
    def stream(asked: Asked) -> dict[str, Any]:
        raise Fault(code, "no push", data={"feature": "deliveryMode", "value": "push"})

    story = Story()
    async with EventsServer(poll=story.poll, stream=stream) as server:
        async with heard.attached(mcp_events_source(server.url, NAME, poll_ms=10)):
            await until(lambda: server.methods("events/poll"))
            story.tell(2)
            await heard.met(["e1", "e2"])
        source = mcp_events_source(server.url, NAME, mode="stream")
        with pytest.raises(PermanentError, match="no push"):
            await heard.app.attach("elsewhere", source)


async def test_without_push_it_polls_and_with_more_at_once(heard: Heard) -> None:
    story = Story(page=2)
    clock = fake_clock()
    async with (
        EventsServer(poll=story.poll) as server,
        heard.attached(mcp_events_source(server.url, NAME, poll_ms=5000, clock=clock)),
    ):
        await until(lambda: len(server.methods("events/poll")) == 1)
        await asyncio.sleep(0.05)
        story.tell(5)
        await clock.advance(5000)
        await heard.met(numbered(1, 5))
        assert len(server.methods("events/poll")) == 4
        assert server.asked[-1].params["maxEvents"] == 250
    assert not server.methods("events/stream")


async def test_a_server_says_when_to_poll_again(heard: Heard) -> None:
    story = Story()
    clock = fake_clock()
    async with EventsServer(poll=lambda asked: {**story.poll(asked), "nextPollMs": 3000}) as server:
        source = mcp_events_source(server.url, NAME, mode="poll", poll_ms=100_000, clock=clock)
        async with heard.attached(source):
            await until(lambda: len(server.asked) == 1)
            await asyncio.sleep(0.05)
            await clock.advance(2999)
            await asyncio.sleep(0.05)
            assert len(server.asked) == 1
            await clock.advance(1)
            await until(lambda: len(server.asked) == 2)


async def test_what_was_lost_marks_the_window(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor="1", truncated=False)
        yield asked.event(2)
        yield asked.note("active", cursor="7", truncated=True)
        yield asked.event(8)
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server, heard.attached(mcp_events_source(server.url, NAME)):
        await heard.met(["e2", "e8"])
        assert await heard.gap()


async def test_a_poll_that_lost_events_marks_the_window_too(heard: Heard) -> None:
    def poll(asked: Asked) -> dict[str, Any]:
        events = [] if asked.cursor else [occurrence(5)]
        return {"events": events, "cursor": "5", "truncated": asked.cursor is None, "hasMore": False}

    async with EventsServer(poll=poll) as server, heard.attached(mcp_events_source(server.url, NAME)):
        await heard.met(["e5"])
        assert await heard.gap()


async def test_what_cannot_be_read_is_passed_over_and_told(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.note("active", cursor="1", truncated=False)
        yield asked.note("event", eventId=4, name=NAME, data={}, cursor="2")
        yield asked.note("event", eventId="x", name=NAME, data=[], cursor="3")
        yield asked.event(4, timestamp="whenever")
        yield asked.note("error", error={"code": -32000, "message": "upstream is slow"})
        yield asked.note("event", to=99, **occurrence(5), cursor="5")
        yield asked.event(6)
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server:
        source = mcp_events_source(server.url, NAME, on_error=heard.troubles.append)
        async with heard.attached(source):
            await heard.met(["e4", "e6"])
    assert sorted(heard.kinds()) == ["error", "invalid", "invalid", "unrouted"]
    assert any("upstream is slow" in trouble.message for trouble in heard.troubles)
    assert heard.failures() == []


async def test_a_message_that_is_no_json_of_ours_costs_its_neighbours_nothing(heard: Heard) -> None:
    async def stream(asked: Asked) -> Messages:
        yield asked.event(1)
        yield b'data: {"method": "notifications/events/event", "params": {"data": {"n": 1e999}}}'
        yield b"data: {"
        yield b'data: {"method": 5}'
        yield b'data: {"method": "notifications/events/event", "params": {"data": %s}}' % (
            b"[" * 5000 + b"]" * 5000
        )
        text = json.dumps(asked.event(2), indent=1)
        yield "\n".join(f"data: {line}" for line in text.splitlines()).encode()
        await asyncio.sleep(60)

    async with EventsServer(stream=stream) as server:
        source = mcp_events_source(server.url, NAME, on_error=heard.troubles.append)
        async with heard.attached(source):
            await heard.met(["e1", "e2"])
    assert heard.kinds() == ["invalid"] * 4
    assert heard.failures() == []


async def test_an_observer_that_raises_costs_nothing(heard: Heard) -> None:
    def raises(_: object) -> None:
        raise RuntimeError("no")

    async def stream(asked: Asked) -> Messages:
        yield asked.note("error", error={})
        yield asked.event(6)
        await asyncio.sleep(60)

    async with (
        EventsServer(stream=stream) as server,
        heard.attached(mcp_events_source(server.url, NAME, on_error=raises)),
    ):
        await heard.met(["e6"])


@pytest.mark.parametrize("code", [-32025, -32013])
async def test_over_a_limit_it_waits_and_tries_again(heard: Heard, code: int) -> None:
    story = Story()
    tries = 0

    def stream(asked: Asked) -> Messages:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Fault(code, "too many subscriptions", data={"limit": "subscriptions"})
        return story.stream(asked)

    async with EventsServer(stream=stream) as server, heard.attached(mcp_events_source(server.url, NAME)):
        await until(lambda: server.open)
        story.tell(1)
        await heard.met(["e1"])
    assert len(heard.failures()) == 2


async def test_any_other_error_ends_it_with_the_cause(heard: Heard) -> None:
    def poll(asked: Asked) -> dict[str, Any]:
        raise Fault(-32024, "not for you", data={"reason": "scope"})

    async with EventsServer(poll=poll) as server:
        with pytest.raises(PermanentError, match="not for you") as caught:
            await heard.app.attach("s", mcp_events_source(server.url, NAME))
    assert isinstance(caught.value.__cause__, AnswerError)
    assert caught.value.__cause__.code == "-32024"


async def test_a_server_without_events_ends_it(heard: Heard) -> None:
    async with EventsServer() as server:
        del server.handlers["events/list"]
        with pytest.raises(PermanentError, match="Method not found"):
            await heard.app.attach("s", mcp_events_source(server.url, NAME))
