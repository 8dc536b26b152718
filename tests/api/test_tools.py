"""`attend_wait` and `attend_window`: the two tools of clients that do not subscribe."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from attend import Attend
from attend.core.types import Route
from attend.store.base import ScopeStore
from tests.api.conftest import Serve
from tests.api.rows import decide, decide_many
from tests.api.wire import Wire, wire

pytestmark = pytest.mark.anyio


@pytest.fixture
async def wired(store: ScopeStore, served: Serve) -> AsyncGenerator[tuple[Attend, Wire]]:
    """An app that judges, and a client of it."""
    async with served(store) as (app, server), wire(server.url()) as client:
        yield app, client


async def decided(client: Wire, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Send events of which the last flushes; the decision about them."""
    cursor = (await client.poll(None))["cursor"]
    body = b"\n".join(json.dumps({"scope": "s", **line}).encode() for line in lines)
    reply = (await client.ingest(body)).json()
    assert reply["rejected"] == []
    event = (await client.poll(cursor, timeoutMs=24_000))["events"][0]
    found: dict[str, Any] = event["data"]
    return found


async def test_a_wait_returns_what_is_decided_meanwhile(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    answers: list[dict[str, Any]] = []
    made: list[str] = []

    async def wait() -> None:
        answers.append(await client.tool("attend_wait", scope="mine", routes=["note"], waitSeconds=40))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.3)
        await decide(app.store, "mine", route=Route.ASK)
        await decide(app.store, "other", route=Route.NOTE)
        made.append(await decide(app.store, "mine", route=Route.NOTE))
    [answer] = answers
    assert [each["decisionId"] for each in answer["decisions"]] == made
    assert (answer["truncated"], answer["hasMore"], answer["timedOut"]) == (False, False, False)
    later = await client.tool("attend_wait", cursor=answer["cursor"], waitSeconds=0)
    assert (later["decisions"], later["timedOut"]) == ([], True)


async def test_waits_in_a_loop_miss_nothing(wired: tuple[Attend, Wire]) -> None:
    app, client = wired
    cursor = (await client.tool("attend_wait", waitSeconds=0))["cursor"]
    made = await decide_many(app.store, 7)
    got: list[str] = []
    while len(got) < 7:
        answer = await client.tool("attend_wait", cursor=cursor, waitSeconds=5, max=3)
        got += [each["decisionId"] for each in answer["decisions"]]
        cursor = answer["cursor"]
        assert answer["hasMore"] == (len(got) < 7)
    assert got == made


async def test_a_window_holds_the_data_that_was_sent(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    data: dict[str, Any] = {
        "int": 2**60 + 1,
        "huge": 10**40,
        "float": 0.1,
        "tiny": 5e-324,
        "none": None,
        "flag": True,
        "text": "n\u00e4m\u0117 \u2028 \U0001f600",
        "nested": [[{"a": []}], {}],
    }
    lines: list[dict[str, Any]] = [
        {"id": "a", "name": "log.line", "at": 1_760_570_000_123, "data": data},
        {"id": "b", "name": "user.said", "text": "look"},
    ]
    decision = await decided(client, lines)
    window = await client.tool("attend_window", decisionId=decision["decisionId"])
    assert [event["id"] for event in window["events"]] == decision["eventIds"] == ["a", "b"]
    first, second = window["events"]
    assert first["data"] == data
    assert (first["name"], first["at"], first["kind"]) == ("log.line", 1_760_570_000_123, "consequence")
    assert "text" not in first
    assert (second["text"], second["data"], second["kind"]) == ("look", {}, "flush")
    assert second["acceptedAt"] > 0
    assert (window["scope"], window["reason"], window["route"]) == ("s", "flush", "interrupt")
    assert (window["eventCount"], window["dropped"], window["gap"]) == (2, 0, False)
    assert "nextCursor" not in window


async def test_a_large_window_comes_in_pages(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    lines = [{"id": str(n), "name": "log.line", "text": "x" * 9000} for n in range(100)]
    decision = await decided(client, [*lines, {"id": "last", "name": "user.said"}])
    got: list[str] = []
    more: dict[str, Any] = {}
    pages = 0
    while True:
        window = await client.tool("attend_window", decisionId=decision["decisionId"], **more)
        assert window["eventCount"] == 101
        got += [event["id"] for event in window["events"]]
        pages += 1
        if "nextCursor" not in window:
            break
        more = {"cursor": window["nextCursor"]}
    assert got == [*map(str, range(100)), "last"]
    assert pages > 1
    for cursor in ("x", "-1", "101", "9" * 30, ""):
        result = await client.result(
            "tools/call",
            {"name": "attend_window", "arguments": {"decisionId": decision["decisionId"], "cursor": cursor}},
        )
        assert result["isError"]


async def test_every_tool_is_described_and_says_whether_it_only_reads(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    tools = (await client.result("tools/list"))["tools"]
    for tool in tools:
        assert tool["description"]
        assert tool["annotations"]["destructiveHint"] is tool["annotations"]["openWorldHint"] is False
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert all("description" in each for each in tool["inputSchema"]["properties"].values())
    changing = {tool["name"] for tool in tools if not tool["annotations"]["readOnlyHint"]}
    assert changing == {"attend_ack", "attend_push"}


async def test_an_unknown_tool_is_an_error(wired: tuple[Attend, Wire]) -> None:
    _, client = wired
    error = await client.error("tools/call", {"name": "nope", "arguments": {}})
    assert error["code"] == -32602
    assert "nope" in error["message"]
