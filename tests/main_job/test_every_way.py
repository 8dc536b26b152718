"""Whichever way an agent hears, it hears all of it, once each, while processes and the server are killed with -9."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from attend.core.codec import decode_summary
from attend.core.types import Summary
from attend.seal import Seal
from attend.store.redis import RedisStore
from tests.api.people import INGEST, READ, People, token_of
from tests.channel.session import Session, subjects
from tests.rig.fleet import Fleet
from tests.rig.reader import until
from tests.rig.service import post_to_any
from tests.rig.ways import Agent, Heard
from tests.servers import Server
from tests.webhooks.receiver import SECRET, Receiver
from tests.webhooks.subscriber import subscribed

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

SCOPE = "shop/"
"""What the agent may see. As much happens elsewhere, of which it must not hear."""
ROUNDS = 48
KILLS = ("api", "worker", "server", "api", "worker", "api", "worker")
CONFIG = """
default_kind = "closing"
webhooks = "local"
webhook_retry_ms = "200,500,1000,2000,4000,8000"
webhook_timeout_ms = 2000
"""
# Leases and backoffs short enough for a lost call to be made again within the test.
SETTLE = ("--settle", "judge_timeout_ms=1500", "--settle", "retry_backoff_ms=200,400,800")
NEWS = ("run.failed", "run.finished", "approval.requested")


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    """One that syncs every write."""
    return new_server("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """Two APIs and two workers, known to one who tells and one who hears."""
    people = People(tmp_path)
    people.put("app", INGEST, "")
    people.put("agent", READ, SCOPE)
    config = tmp_path / "attend.toml"
    config.write_text(f'[serve]\nprincipals = "{people.path}"{CONFIG}')
    made = Fleet(server, tmp_path, "--config", str(config), *SETTLE, apis=2, workers=2)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
async def store(server: Server) -> AsyncGenerator[RedisStore]:
    """What the server holds, from the side."""
    made = RedisStore(server.url)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """What a webhook is delivered to."""
    made = Receiver()
    yield made
    made.close()


def lines_of(n: int) -> list[bytes]:
    """What happens in a round: something that the agent may know of, and something that it may not."""
    data = {"run": f"r{n}", "approval": f"r{n}", "startedBy": "agent", "for": "agent"}
    name = NEWS[n % 4] if n % 4 < len(NEWS) else "log"
    return [
        json.dumps({"scope": scope, "id": f"{scope[0]}{n}", "name": name, "data": data}).encode()
        for scope in (f"{SCOPE}{n % 8}", f"bank/{n % 8}")
    ]


async def logged(store: RedisStore) -> list[Summary]:
    """The decisions that the agent may know of, in the order of the log."""
    page = await store.log.read(await store.log.start(), 10_000)
    found = [decode_summary(row.summary) for row in page.rows]
    return [each for each in found if each.scope.startswith(SCOPE)]


def assert_grew(seal: Seal, cursors: Sequence[str]) -> None:
    """Each cursor is one of this log's, and none is before the one that came before it."""
    places = [seal.open(cursor) for cursor in cursors]
    numbers = [place.n for place in places if place is not None]
    assert len(numbers) == len(places)
    assert numbers == sorted(numbers)


async def happens(fleet: Fleet, server: Server) -> None:
    """All rounds, and meanwhile all kills, each of them once there was something new since the last."""
    told = 0

    def has_told(rounds: int) -> bool:
        return told >= rounds

    async def tell() -> None:
        nonlocal told
        for n in range(ROUNDS):
            await to_thread.run_sync(partial(post_to_any, fleet.urls, lines_of(n), n, token=token_of("app")))
            told += 1
            await anyio.sleep(0.25)

    async def kill() -> None:
        counts: Counter[str] = Counter()
        for turn, member in enumerate(KILLS):
            await until(partial(has_told, 6 * turn + 3))
            which = counts[member] % 2
            counts[member] += 1
            if member == "server":
                await to_thread.run_sync(server.kill)
                await anyio.sleep(1)
                await to_thread.run_sync(server.start)
            elif member == "api":
                await to_thread.run_sync(fleet.kill, which)
                await to_thread.run_sync(fleet.apis[which].wait_ready)
            else:
                await to_thread.run_sync(fleet.kill, len(fleet.apis) + which)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        tasks.start_soon(kill)


async def test_every_way_brings_everything_once_while_processes_are_killed(
    fleet: Fleet, server: Server, store: RedisStore, receiver: Receiver, tmp_path: Path
) -> None:
    token = token_of("agent")
    agent = Agent(fleet.urls, token)
    ways = {name: Heard() for name in ("poll", "stream", "wait", "ask", "resource")}
    subscription = await subscribed(fleet.urls, token, receiver.url, SCOPE)
    start = (await agent.tool("attend_wait", waitSeconds=0))["cursor"]
    since = (await agent.tool("list_attention"))["cursor"]
    uri = "attend://workspace/default/attention/agent"
    happened = {f"s{n}" for n in range(ROUNDS)}
    news = [f"r{n}" for n in range(ROUNDS) if n % 4 < len(NEWS)]
    wanted: list[str] = []
    pushed: list[dict[str, Any]] = []

    async def all_decided() -> bool:
        return {id for each in await logged(store) for id in each.event_ids} >= happened

    with Session(fleet.urls[0], tmp_path / "seen", token=token) as session:
        await to_thread.run_sync(session.ready)
        first_mark = mark(tmp_path / "seen")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.decisions, 0, "stream", start, ways["stream"])
            tasks.start_soon(agent.decisions, 1, "poll", start, ways["poll"])
            tasks.start_soon(agent.waits, start, ways["wait"])
            tasks.start_soon(agent.asks, since, ways["ask"])
            tasks.start_soon(agent.listens, uri, ways["resource"])
            await until(lambda: bool(ways["resource"].cursors))

            await happens(fleet, server)
            await until(all_decided, seconds=90)
            wanted = [each.id for each in await logged(store)]
            for name in ("poll", "stream", "wait"):
                await ways[name].has("decisionId", wanted)
            for name in ("ask", "resource"):
                await ways[name].has("subject", news)
            await until(lambda: set(receiver.events) >= set(wanted), seconds=90)
            pushed = await to_thread.run_sync(session.pushed, len(news), 90)
            # What came twice would come now.
            assert await to_thread.run_sync(session.quiet, 1.5)
            assert all(each.process.poll() is None for each in (*fleet.apis, *fleet.workers))
            tasks.cancel_scope.cancel()
        session.tool("attention_seen", id=pushed[-1]["meta"]["id"])
        last_mark = mark(tmp_path / "seen")
    await agent.close()

    decisions = await logged(store)
    assert [each.id for each in decisions] == wanted
    assert Counter(id for each in decisions for id in each.event_ids) == Counter(happened)
    end = await store.log.end()
    seal = Seal(await store.log.secret(), end.epoch)
    for name in ("poll", "stream", "wait"):
        assert ways[name].ids("decisionId") == wanted, name
        assert_grew(seal, ways[name].cursors)

    posts = [each for each in receiver.posts if each.event is not None]
    assert list(dict.fromkeys(receiver.events)) == wanted
    assert {each.headers["x-mcp-subscription-id"] for each in posts} == {subscription["id"]}
    assert all(each.signed_by(SECRET) for each in posts)
    assert_grew(seal, [each.body["cursor"] for each in posts])
    assert receiver.of("gap") == receiver.of("terminated") == []

    seal = Seal(await store.news.secret(), (await store.news.end()).epoch)
    assert ways["ask"].ids("subject") == news
    ids = ways["ask"].ids("id")
    assert len(set(ids)) == len(ids)
    assert list(dict.fromkeys(ways["resource"].ids("id"))) == ids
    assert subjects(pushed) == news
    assert [each["meta"]["id"] for each in pushed] == ids
    for cursors in (ways["ask"].cursors, ways["resource"].cursors, [first_mark, last_mark]):
        assert_grew(seal, cursors)
    assert [heard.truncated for heard in ways.values()] == [0] * len(ways)


def mark(state: Path) -> str:
    """How far a channel has noted that the session saw."""
    found: str = json.loads(state.read_bytes())["cursor"]
    return found
