"""Nothing is lost, and cursors only grow, while APIs, workers and the server are killed hard in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from attend import Attend
from attend.seal import Seal
from attend.store.redis import RedisStore
from tests.api.wire import EVENT, wire
from tests.rig.fleet import Fleet
from tests.rig.service import post
from tests.servers import Server
from tests.webhooks.receiver import SECRET, Post, Receiver, until
from tests.webhooks.subscriber import subscribed

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TOKEN = "a-token-of-a-test"
COUNT = 150


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    """One that keeps whatever it said it took."""
    return new_server("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """Two APIs and two workers."""
    config = tmp_path / "attend.toml"
    config.write_text(
        f'[serve]\ntoken = "{TOKEN}"\nwebhooks = "local"\n'
        'webhook_retry_ms = "200,500,1000,2000,4000,8000"\nwebhook_timeout_ms = 2000\n'
        '[kinds]\n"u" = "flush"\n'
    )
    made = Fleet(server, tmp_path, "--config", str(config), apis=2, workers=2)
    made.start()
    yield made
    for member in (*made.apis, *made.workers):
        member.kill()


async def settled(store: RedisStore) -> int:
    """How many scopes there are, once all that was pushed to them was judged."""
    engine = Attend(store=store).engine
    for _ in range(500):
        scopes = await store.idle(2**53, 1000)
        states = [await engine.state(scope) for scope in scopes]
        if all(state is not None and state.slot is None and not state.open.acts for state in states):
            return len(scopes)
        await anyio.sleep(0.1)
    raise AssertionError("not all of it was judged in time")


async def test_every_decision_arrives_through_kills_and_restarts(
    server: Server, fleet: Fleet, new_receiver: Callable[..., Receiver]
) -> None:
    turns = iter(range(10**6))
    lock = threading.Lock()

    taken: list[Post] = []

    def moody(post: Post) -> int:
        """Turn one in six away, but none that was taken before."""
        with lock:
            known = any(each.event == post.event for each in taken)
            if not known and next(turns) % 6 == 5:
                return 503
            taken.append(post)
            return 200

    receivers = {scope: new_receiver(moody) for scope in ("a", "b")}
    ids = {
        scope: (await subscribed(fleet.urls, TOKEN, receiver.url, scope))["id"]
        for scope, receiver in receivers.items()
    }
    assert len(set(ids.values())) == 2

    def push() -> None:
        for n in range(COUNT):
            line = json.dumps({"scope": f"{'ab'[n % 2]}/{n % 10}", "id": f"e{n}", "name": "u"}).encode()
            post(fleet.urls[n % 2], [line], token=TOKEN)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, push)
        for turn in range(8):
            await anyio.sleep(0.8)
            await anyio.to_thread.run_sync(fleet.kill, turn)
            if turn in (2, 5):
                await anyio.to_thread.run_sync(server.restart)
            # Who refreshes meanwhile gets the same one.
            again = await subscribed(fleet.urls, TOKEN, receivers["a"].url, "a")
            assert again["id"] == ids["a"]

    wanted: dict[str, set[str]] = {"a": set(), "b": set()}
    store = RedisStore(server.url)
    await store.open()
    try:
        for api in fleet.apis:
            api.wait_ready()

        # What was pushed has been judged once there is no scope left that is due.
        assert await settled(store) == 10
        rows = await store.log.read(await store.log.start(), 10_000)
        logged = len(rows.rows)
        await until(lambda: sum(len(set(each.events)) for each in receivers.values()) >= logged, 100)
        for scope in wanted:
            async with wire(fleet.urls[0], TOKEN) as client:
                start = "from-the-oldest-that-is-kept"
                events, _ = await client.drain(start, arguments={"scopePrefix": scope})
                wanted[scope] = {event["eventId"] for event in events}
                assert all(event["name"] == EVENT for event in events)
        await until(lambda: all(set(receivers[each].events) == wanted[each] for each in wanted), 60)
        seal = Seal(await store.log.secret(), (await store.log.end()).epoch)
    finally:
        await store.close()
    for scope, receiver in receivers.items():
        places: list[int] = []
        assert all(each.signed_by(SECRET) for each in receiver.posts)
        for each in [each for each in receiver.posts if each in taken]:
            assert each.headers["x-mcp-subscription-id"] == ids[scope]
            if each.event is not None:
                assert each.headers["webhook-id"] == each.event
                position = seal.open(each.body["cursor"])
                assert position is not None
                places.append(position.n)
        assert places == sorted(places)
        assert receiver.of("gap") == []
    assert sum(map(len, wanted.values())) >= COUNT // 20
