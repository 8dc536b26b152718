"""The main job on real input, nothing of ours faked: `attend serve`, curl-like ingest, the official MCP client."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from attend.core.types import window_id
from tests.rig.reader import Reader, reader, until
from tests.rig.service import Service, ids, post_all
from tests.rig.streams import machine_log, webhooks

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

KINDS = '{"ras.*.fatal":"closing","ras.*.severe":"closing"}'


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Service]:
    """`attend serve` with the machine log's kinds, on the bundled server."""
    service = Service(
        "serve", "--port", "0", "--data", str(tmp_path / "data"), "--kinds", KINDS, log=tmp_path / "log"
    )
    try:
        yield service.wait_ready()
    finally:
        service.stop()


async def settled(agent: Reader, wanted: set[str]) -> None:
    """Poll until every wanted event id is in a decision."""

    async def all_there() -> bool:
        await agent.poll()
        return wanted <= {each for event in agent.polled for each in event["data"]["eventIds"]}

    await until(all_there)


async def test_every_alert_of_a_machine_log_wakes_once_by_poll_and_by_stream(serve: Service) -> None:
    lines, alerts = machine_log()
    async with reader(serve.url) as poller, reader(serve.url) as streamer, anyio.create_task_group() as tasks:
        await poller.poll()
        tasks.start_soon(streamer.stream)
        await until(lambda: streamer.active)

        total = await anyio.to_thread.run_sync(post_all, serve.url, lines)
        assert total == {"accepted": len(lines), "duplicates": 0}
        await settled(poller, alerts)
        await anyio.sleep(2)
        await poller.poll()

        counts = Counter(each for event in poller.polled for each in event["data"]["eventIds"])
        assert {alert: counts[alert] for alert in alerts} == dict.fromkeys(alerts, 1)
        assert max(counts.values()) == 1
        await until(lambda: len(streamer.streamed) >= len(poller.polled))
        assert ids(streamer.streamed) == ids(poller.polled)
        for event in poller.polled:
            data = event["data"]
            assert data["decisionId"] == event["eventId"] == window_id(data["scope"], data["eventIds"])
            assert data["eventCount"] == len(data["eventIds"])

        decided = len(poller.polled)
        again = await anyio.to_thread.run_sync(post_all, serve.url, lines)
        assert again == {"accepted": 0, "duplicates": len(lines)}
        await anyio.sleep(3)
        await poller.poll()
        assert len(poller.polled) == decided
        tasks.cancel_scope.cancel()


async def test_what_went_in_comes_back_equal_value_by_value(tmp_path: Path) -> None:
    lines = webhooks()
    service = Service(
        "serve",
        "--port",
        "0",
        "--store",
        "memory",
        "--default-kind",
        "closing",
        log=tmp_path / "log",
    ).wait_ready()
    try:
        async with reader(service.url) as agent:
            await agent.poll()
            total = await anyio.to_thread.run_sync(post_all, service.url, lines)
            assert total == {"accepted": len(lines), "duplicates": 0}
            sent = {event["id"]: event for event in map(json.loads, lines)}
            await settled(agent, set(sent))
            got: dict[str, dict[str, Any]] = {}
            for decision in agent.polled:
                events = await agent.window(decision["eventId"])
                assert [event["id"] for event in events] == decision["data"]["eventIds"]
                got.update({event["id"]: event for event in events})
            assert got.keys() == sent.keys()
            for event_id, event in sent.items():
                assert got[event_id]["data"] == event["data"]
                assert got[event_id]["name"] == event["name"]
                assert got[event_id]["at"] == event["at"]
    finally:
        assert service.stop() == 0
