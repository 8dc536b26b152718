"""MCP as a client sees it on the wire: negotiation, list, poll, stream, tools, errors."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from attend.api import ApiSettings
from attend.core.types import Route
from attend.store.base import Position, ScopeStore
from attend.webhooks.profiles import PROFILES
from tests.api.conftest import Serve
from tests.api.rows import AT, decide, decide_many, sealed
from tests.api.wire import EVENT, META, Wire, request_of, wire

pytestmark = pytest.mark.anyio

EXTENSION = f"{META}events"


@pytest.fixture
async def wired(store: ScopeStore, served: Serve) -> AsyncGenerator[tuple[ScopeStore, Wire]]:
    """A store, and a client of the API that reads its log; nothing is judged."""
    async with served(store, run=False, heartbeat_ms=300) as (_, server), wire(server.url()) as client:
        yield store, client


@pytest.fixture
async def client(served: Serve) -> AsyncGenerator[Wire]:
    """A client of an API on a store in memory."""
    async with served(run=False, heartbeat_ms=300) as (_, server), wire(server.url()) as made:
        yield made


async def test_both_spellings_of_the_capability_are_advertised(client: Wire) -> None:
    result = await client.result("server/discover")
    assert result["capabilities"]["extensions"][EXTENSION] == {"listChanged": True}
    assert result["capabilities"]["events"] == {}
    assert "logging" not in result["capabilities"]
    assert result["_meta"][f"{META}serverInfo"]["name"] == "attend"


async def test_the_event_type_is_listed_with_its_schemas(client: Wire) -> None:
    result = await client.result("events/list")
    assert result["resultType"] == "complete"
    [event] = result["events"]
    assert event["name"] == EVENT
    assert event["description"]
    assert event["delivery"] == ["poll", "push"]
    assert event["inputSchema"]["type"] == event["payloadSchema"]["type"] == "object"
    assert set(event["inputSchema"]["properties"]) == {
        "scope",
        "scopePrefix",
        "routes",
        "minConfidence",
        "redact",
    }
    assert set(event["payloadSchema"]["properties"]) >= {"decisionId", "scope", "route", "notice", "eventIds"}


async def test_a_payload_holds_what_its_schema_says(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    decision = await decide(store, "ops/db", confidence=0.75)
    [event] = (await client.poll(cursor))["events"]
    assert event["eventId"] == event["data"]["decisionId"] == decision
    assert event["name"] == EVENT
    assert event["timestamp"] == "2025-10-15T23:13:20.000Z"
    assert event["data"]["decidedAt"] == AT
    schema = (await client.result("events/list"))["events"][0]["payloadSchema"]
    assert set(schema["required"]) <= set(event["data"]) <= set(schema["properties"])
    assert event["data"] == {
        "decisionId": decision,
        "scope": "ops/db",
        "route": "interrupt",
        "reason": "flush",
        "decidedAt": AT,
        "notice": "replica lag 40s",
        "eventIds": event["data"]["eventIds"],
        "eventCount": 1,
        "dropped": 0,
        "gap": False,
        "confidence": 0.75,
    }


async def test_a_poll_without_a_cursor_is_from_now(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    await decide(store)
    named = await client.poll(None)
    left_out = await client.result("events/poll", {"name": EVENT})
    for page in (named, left_out):
        assert (page["events"], page["truncated"], page["hasMore"]) == ([], False, False)
        assert page["nextPollMs"] == 1000
        assert page["resultType"] == "complete"
    assert named["cursor"] == left_out["cursor"]


async def test_polls_drain_a_backlog_once_and_in_order(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    made = await decide_many(store, 5)
    page = await client.poll(cursor, maxEvents=1)
    assert page["hasMore"]
    assert page["cursor"] != cursor
    rest, _ = await client.drain(page["cursor"], maxEvents=1)
    assert [event["eventId"] for event in (*page["events"], *rest)] == made


@pytest.mark.parametrize("kind", ["garbage", "", "future", "epoch", "old"])
async def test_a_cursor_that_cannot_be_honoured_is_truncated(
    wired: tuple[ScopeStore, Wire], kind: str
) -> None:
    store, client = wired
    first = (await client.poll(None))["cursor"]
    made = await decide_many(store, 4)
    end = await store.log.end()
    kept = made
    cursor = kind
    if kind == "future":
        cursor = await sealed(store, Position(end.epoch, end.n + 9, "99999999999999-0"))
    elif kind == "epoch":
        cursor = await sealed(store, Position("elsewhere", end.n, end.id))
    elif kind == "old":
        cursor, kept = first, made[2:]
        await store.log.trim(2, 0)
    page = await client.poll(cursor)
    assert page["truncated"]
    assert [event["eventId"] for event in page["events"]] == kept
    assert not (await client.poll(page["cursor"]))["truncated"]
    async with client.stream(cursor) as frames:
        kind_of, active = await frames.next()
        assert (kind_of, active["truncated"]) == ("active", True)
        assert [event["eventId"] for event in await frames.events(len(kept))] == kept
    again, _ = await client.drain(active["cursor"])
    assert [event["eventId"] for event in again] == kept
    waited = await client.tool("attend_wait", cursor=cursor, waitSeconds=20)
    assert (waited["truncated"], waited["timedOut"]) == (True, False)
    assert [decision["decisionId"] for decision in waited["decisions"]] == kept


@pytest.mark.parametrize("method", ["events/poll", "events/stream"])
@pytest.mark.parametrize("cursor", [5, {}, ["x"], True])
async def test_only_a_cursor_that_is_no_string_is_invalid(client: Wire, method: str, cursor: Any) -> None:
    answer = await client.post(method, {"name": EVENT, "cursor": cursor})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32602
    assert "cursor" in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["events/poll", "events/stream", "events/subscribe"])
async def test_an_unknown_event_is_not_found(client: Wire, method: str) -> None:
    error = await client.error(method, {"name": "nope"})
    assert (error["code"], error["data"]) == (-32023, {"kind": "event"})


@pytest.mark.parametrize("method", ["events/poll", "events/stream"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"scope": 1},
        {"routes": ["page"]},
        {"routes": []},
        {"minConfidence": 2},
        {"redact": "yes"},
        {"scopes": "x"},
    ],
)
async def test_arguments_are_held_to_their_schema(
    client: Wire, method: str, arguments: dict[str, Any]
) -> None:
    answer = await client.post(method, {"name": EVENT, "arguments": arguments})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == -32602
    assert next(iter(arguments)) in error["message"]


async def test_a_mode_that_is_not_offered_is_unsupported(client: Wire) -> None:
    delivery = {"mode": "push", "url": "https://x.example/", "secret": "whsec_"}
    error = await client.error("events/subscribe", {"name": EVENT, "delivery": delivery})
    assert (error["code"], error["data"]) == (-32026, {"feature": "deliveryMode", "value": "push"})


async def test_the_older_error_numbers_can_be_asked_for(served: Serve) -> None:
    assert PROFILES["openai"]["NotFound"] == -32011
    async with served(run=False, errors="openai") as (_, server), wire(server.url()) as client:
        assert (await client.error("events/poll", {"name": "nope"}))["code"] == -32011


async def test_filters_apply_to_poll_and_stream(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    await decide(store, "app/x", route=Route.NOTE)
    wanted = await decide(store, "ops/db", route=Route.NOTE, confidence=0.9)
    await decide(store, "ops/db", route=Route.INTERRUPT)
    arguments = {"scopePrefix": "ops/", "routes": ["note", "ask"], "minConfidence": 0.5}
    page = await client.poll(cursor, arguments)
    assert [event["eventId"] for event in page["events"]] == [wanted]
    assert (await client.poll(page["cursor"]))["events"] == []
    async with client.stream(cursor, arguments) as frames:
        assert (await frames.events(1))[0]["eventId"] == wanted
        _, beat = await frames.next("heartbeat")
    assert beat["cursor"] == page["cursor"]


async def test_a_redacted_payload_has_no_word_of_a_stranger(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    await decide(store, "canary/scope", notice="canary words")
    for arguments, shown in (({"redact": True}, False), ({"redact": True, "scope": "canary/scope"}, True)):
        [event] = (await client.poll(cursor, arguments))["events"]
        assert "notice" not in event["data"]
        assert "eventIds" not in event["data"]
        assert event["data"]["eventCount"] == 1
        assert event["data"].get("scope") == ("canary/scope" if shown else None)
        assert ("canary" in json.dumps(event)) == shown
        async with client.stream(cursor, arguments) as frames:
            [streamed] = await frames.events(1)
            assert streamed["data"] == event["data"]


async def test_a_poll_can_be_held_until_there_is_something(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    pages: list[dict[str, Any]] = []
    made: list[str] = []

    async def poll() -> None:
        pages.append(await client.poll(cursor, timeoutMs=24_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await anyio.sleep(0.2)
        assert not pages
        made.append(await decide(store))
    assert [event["eventId"] for event in pages[0]["events"]] == made
    assert (await client.poll(pages[0]["cursor"], timeoutMs=100))["events"] == []


async def test_max_age_is_a_floor(served: Serve) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client:
        cursor = (await client.poll(None))["cursor"]
        await decide(app.store)
        young = await decide(app.store, decided_at=app.clock.now())
        page = await client.poll(cursor, maxAgeMs=60_000)
        assert page["truncated"]
        assert [event["eventId"] for event in page["events"]] == [young]
        assert not (await client.poll(None, maxAgeMs=60_000))["truncated"]
        async with client.stream(cursor, maxAgeMs=60_000) as frames:
            assert (await frames.next())[1]["truncated"]
            assert (await frames.events(1))[0]["eventId"] == young


@pytest.mark.parametrize("id", [7, "s-8"])
async def test_a_stream_begins_with_active_and_keeps_the_type_of_its_id(
    wired: tuple[ScopeStore, Wire], id: int | str
) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    async with client.stream(None, id=id) as frames:
        headers = frames.answer.headers
        assert "no-transform" in headers["cache-control"]
        assert headers["x-accel-buffering"] == "no"
        kind, active = await frames.next(seconds=10)
        assert (kind, active["truncated"], active["cursor"]) == ("active", False, cursor)
        assert active["_meta"] == {f"{META}subscriptionId": id}
        first = await frames.next("heartbeat")
        made = await decide(store)
        [event] = await frames.events(1)
        assert event["eventId"] == made
        assert event["_meta"] == first[1]["_meta"] == {f"{META}subscriptionId": id}
        assert [each["eventId"] for each in (await client.drain(active["cursor"]))[0]] == [made]
        assert (await client.poll(event["cursor"]))["events"] == []
        for _ in range(3):
            _, beat = await frames.next("heartbeat", seconds=10)
            assert beat["cursor"] == event["cursor"]


async def test_an_idle_stream_survives_a_proxy_that_cuts_silence(wired: tuple[ScopeStore, Wire]) -> None:
    """Heartbeats are data frames: none of the pauses between them reaches what a proxy would cut at."""
    store, client = wired
    async with client.stream(None) as frames:
        await frames.next("active")
        for _ in range(8):
            await frames.next("heartbeat", seconds=5)
        made = await decide(store)
        assert (await frames.events(1))[0]["eventId"] == made


async def test_a_stream_catches_up_and_goes_on_without_loss(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    cursor = (await client.poll(None))["cursor"]
    made = await decide_many(store, 150)
    async with client.stream(cursor) as frames:
        got = [event["eventId"] for event in await frames.events(100)]
        made += await decide_many(store, 20)
        got += [event["eventId"] for event in await frames.events(70)]
    assert got == made


async def test_a_stream_that_is_aborted_is_let_go(served: Serve) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client:
        async with client.stream(None) as frames:
            await frames.next("active")
            await anyio.sleep(0.1)
            assert app.feed.waiting == 1
        with anyio.fail_after(5):
            while app.feed.waiting:  # noqa: ASYNC110 - it does not say
                await anyio.sleep(0.02)


async def test_two_clients_with_one_id_do_not_mix(wired: tuple[ScopeStore, Wire]) -> None:
    store, client = wired
    async with (
        client.stream(None, {"scope": "one"}, id=1) as first,
        client.stream(None, {"scope": "two"}, id=1) as second,
    ):
        await first.next("active")
        await second.next("active")
        two = await decide(store, "two")
        one = await decide(store, "one")
        assert (await first.events(1))[0]["eventId"] == one
        assert (await second.events(1))[0]["eventId"] == two


async def test_many_streams_each_get_every_decision(served: Serve) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client:
        got: list[list[str]] = []
        made: list[str] = []

        async def follow(number: int) -> None:
            async with client.stream(cursor, id=number) as frames:
                got.append([event["eventId"] for event in await frames.events(5)])

        cursor = (await client.poll(None))["cursor"]
        async with anyio.create_task_group() as tasks:
            for number in range(150):
                tasks.start_soon(follow, number)
            with anyio.fail_after(60):
                while app.feed.waiting < 150:  # noqa: ASYNC110 - it does not say
                    await anyio.sleep(0.05)
            made += await decide_many(app.store, 5)
        assert got == [made] * 150


async def test_a_slow_reader_costs_only_itself(served: Serve) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client, wire(server.url()) as slow:
        cursor = (await client.poll(None))["cursor"]
        async with slow.stream(cursor) as stuck:
            made = [await decide(app.store, notice="x" * 8000) for _ in range(400)]
            async with client.stream(cursor) as frames:
                assert [event["eventId"] for event in await frames.events(400)] == made
            assert [event["eventId"] for event in await stuck.events(400)] == made


async def test_headers_and_methods_are_checked_as_mcp_says(client: Wire) -> None:
    wrong = await client.post("events/list", headers={"Mcp-Method": "events/poll"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, -32020)
    unknown = await client.post("nope")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)
    with_slash = await client.client.post(
        "/mcp/",
        json=request_of("server/discover", {}, 1),
        headers={
            "accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "server/discover",
        },
    )
    assert with_slash.status_code == 200


async def test_an_older_client_has_tools_and_no_events(client: Wire) -> None:
    async def call(method: str, params: dict[str, Any], version: str | None = None) -> dict[str, Any]:
        headers = {"accept": "application/json, text/event-stream"}
        if version is not None:
            headers["MCP-Protocol-Version"] = version
        answer = await client.client.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=headers
        )
        data = [line for line in answer.text.splitlines() if line.startswith("data: {")]
        found: dict[str, Any] = json.loads(data[-1].removeprefix("data: ") if data else answer.text)
        return found

    info = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }
    assert (await call("initialize", info))["result"]["protocolVersion"] == "2025-11-25"
    tools = await call("tools/list", {}, "2025-11-25")
    assert {"attend_wait", "list_attention"} <= {tool["name"] for tool in tools["result"]["tools"]}
    wait = {"name": "attend_wait", "arguments": {"waitSeconds": 0}}
    assert (await call("tools/call", wait, "2025-11-25"))["result"]["structuredContent"]["timedOut"]
    assert (await call("events/list", {}, "2025-11-25"))["error"]["code"] == -32601


def test_the_defaults_are_the_documented_ones() -> None:
    settings = ApiSettings()
    assert (settings.heartbeat_ms, settings.poll_ms, settings.shutdown_grace_ms) == (15_000, 1000, 5000)
    assert (settings.max_body, settings.max_line) == (32 * 1024**2, 1024**2)
