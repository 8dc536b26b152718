"""Faults of settle timing that users of such systems reported, through real processes on a real server."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from tests.rig.fleet import Fleet
from tests.rig.reader import Reader, reader, until
from tests.rig.service import post
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

KINDS = '{"closing":"closing","continuous":"continuous"}'
MakeFleet = Callable[..., Fleet]


@pytest.fixture
def make_fleet(new_server: Callable[..., Server], tmp_path: Path) -> Iterator[MakeFleet]:
    """Starts a fleet on a server of its own."""
    made: list[Fleet] = []

    def make(*flags: str, apis: int = 1, workers: int = 1) -> Fleet:
        fleet = Fleet(new_server(), tmp_path, "--kinds", KINDS, *flags, apis=apis, workers=workers)
        made.append(fleet)
        fleet.start()
        return fleet

    yield make
    for fleet in made:
        fleet.stop()


def line(scope: str, event_id: str, name: str = "closing", **fields: Any) -> bytes:
    """One event as an ingest line."""
    return json.dumps({"scope": scope, "id": event_id, "name": name, **fields}).encode()


def decided(agent: Reader, scope: str) -> Counter[str]:
    """The event ids in the scope's decisions, each with how many it is in."""
    return Counter(
        each
        for event in agent.polled
        if event["data"]["scope"] == scope
        for each in event["data"]["eventIds"]
    )


async def test_acts_that_keep_coming_cannot_hold_a_window_open(make_fleet: MakeFleet) -> None:
    """Each trigger pushed the run back, so under constant activity it never ran."""
    fleet = make_fleet(
        "--settle", "max_window_ms=2000", "--settle", "stream_gap_ms=700", "--settle", "closing_grace_ms=700"
    )
    async with reader(fleet.urls[0]) as agent:
        await agent.poll()
        sent: dict[str, list[str]] = {"continuous": [], "closing": []}
        first_at = time.monotonic()
        while time.monotonic() - first_at < 6.5:
            for kind, ids in sent.items():
                event_id = f"{kind}-{len(ids)}"
                await to_thread.run_sync(post, fleet.urls[0], [line(kind, event_id, kind)])
                ids.append(event_id)
            await asyncio.sleep(0.15)

        async def all_there() -> bool:
            await agent.poll()
            return all(set(ids) <= decided(agent, kind).keys() for kind, ids in sent.items())

        await until(all_there)
        for kind, ids in sent.items():
            assert decided(agent, kind) == Counter(ids)
            reasons = [event["data"]["reason"] for event in agent.polled if event["data"]["scope"] == kind]
            # Some 6.5 s of acts in windows of 2 s: three end by age, the rest once the acts stopped.
            assert reasons.count("age") >= 2
            assert set(reasons[:-1]) == {"age"}


async def test_a_producers_clock_moves_no_settle_timer(make_fleet: MakeFleet) -> None:
    """One row from a device a day ahead, and every right row after it was discarded as late."""
    fleet = make_fleet("--settle", "closing_grace_ms=300")
    now, day = int(time.time() * 1000), 86_400_000
    async with reader(fleet.urls[0]) as agent:
        await agent.poll()
        for scope, skew in (("ahead", day), ("behind", -day)):
            lines = [line(scope, f"{scope}-odd", at=now + skew)]
            lines += [line(scope, f"{scope}-{n}", at=now + n) for n in range(10)]
            started = time.monotonic()
            reply = await to_thread.run_sync(post, fleet.urls[0], [*lines, line("other", f"o-{scope}")])
            assert reply["accepted"] == 12

            async def all_there(scope: str = scope) -> bool:
                await agent.poll()
                return len(decided(agent, scope)) == 11 and f"o-{scope}" in decided(agent, "other")

            await until(all_there)
            assert time.monotonic() - started < 20, "it did not wait for tomorrow"
            of_scope = [event["data"] for event in agent.polled if event["data"]["scope"] == scope]
            assert [data["reason"] for data in of_scope] == ["closing"]
            assert set(decided(agent, scope).values()) == {1}


async def test_events_racing_for_a_new_scope_share_one_window(make_fleet: MakeFleet) -> None:
    """Events within one second raced to open the digest, and the user got several with the same items."""
    fleet = make_fleet("--settle", "closing_grace_ms=1500", apis=3)
    rounds = 8
    async with reader(fleet.urls[0]) as agent:
        await agent.poll()
        with ThreadPoolExecutor(20) as threads:
            for turn in range(rounds):
                futures = [
                    threads.submit(post, fleet.urls[n % 3], [line(f"race-{turn}", f"{turn}-{n}")])
                    for n in range(20)
                ]
                replies = [await asyncio.wrap_future(future) for future in futures]
                assert sum(reply["accepted"] for reply in replies) == 20

        async def all_there() -> bool:
            await agent.poll()
            return all(len(decided(agent, f"race-{turn}")) == 20 for turn in range(rounds))

        await until(all_there)
        for turn in range(rounds):
            assert set(decided(agent, f"race-{turn}").values()) == {1}
        # A slow machine may spread a round over more than the grace; windows then still share no event.
        assert len(agent.polled) <= rounds * 2
