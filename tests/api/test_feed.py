"""The feed: any number of readers of one log, each from its own place."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import anyio
import msgspec
import pytest
import redis.asyncio

from attend.clock import SystemClock
from attend.core.types import Route
from attend.cursor import decode_cursor, encode_cursor
from attend.errors import StoreUnavailableError
from attend.feed import RING_ROWS, Batch, Feed, Filter
from attend.store.base import Position, ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.api.rows import AT, decide, decide_many, sealed
from tests.servers import Server

pytestmark = pytest.mark.anyio

ALL = Filter()
LONG_MS = 30_000


@pytest.fixture
async def feed(store: ScopeStore) -> AsyncGenerator[Feed]:
    made = Feed(store.log, SystemClock())
    yield made
    await made.close()


def ids(batch: Batch) -> list[str]:
    return [decision.id for decision in batch.decisions]


async def later(reads: Awaitable[Batch], then: Callable[[], Awaitable[Any]]) -> Batch:
    """Do something while a read waits; what the read gave."""
    found: list[Batch] = []

    async def read() -> None:
        found.append(await reads)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.sleep(0.1)
        assert not found
        with anyio.fail_after(10):
            await then()
    return found[0]


async def test_no_cursor_is_from_now(store: ScopeStore, feed: Feed) -> None:
    await decide_many(store, 2)
    now = await feed.read(None, ALL)
    assert (now.decisions, now.truncated, now.more) == ((), False, False)
    assert now.start == now.cursor
    wanted = await decide_many(store, 3)
    batch = await feed.read(now.cursor, ALL)
    assert ids(batch) == wanted
    assert (await feed.read(batch.cursor, ALL)).decisions == ()


async def test_pages_carry_on_without_loss_or_repeat(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    wanted = await decide_many(store, 10)
    got: list[str] = []
    for _ in range(4):
        batch = await feed.read(cursor, ALL, limit=3)
        got += ids(batch)
        cursor = batch.cursor
        assert batch.cursor == batch.cursors[-1]
        assert batch.more == (len(got) < 10)
    assert got == wanted


async def test_each_decision_has_the_cursor_after_it(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    wanted = await decide_many(store, 5)
    batch = await feed.read(cursor, ALL)
    for i, each in enumerate(batch.cursors):
        assert ids(await feed.read(each, ALL)) == wanted[i + 1 :]


@pytest.mark.parametrize("wait_ms", [0, LONG_MS])
@pytest.mark.parametrize("kind", ["empty", "garbage", "binary", "future", "far", "epoch", "forged id"])
async def test_a_cursor_that_is_not_ours_is_a_gap(
    store: ScopeStore, feed: Feed, kind: str, wait_ms: int
) -> None:
    wanted = await decide_many(store, 2)
    end = await store.log.end()
    cursor = {
        "empty": "",
        "garbage": "garbage",
        "binary": base64.urlsafe_b64encode(msgspec.msgpack.encode(("x", -1, "0-0"))).decode(),
        "future": await sealed(store, Position(end.epoch, end.n + 5, "99999999999999-0")),
        "far": await sealed(store, Position(end.epoch, 2**62, "18446744073709551615-18446744073709551615")),
        "epoch": await sealed(store, Position("another", end.n, end.id)),
        "forged id": await sealed(store, Position(end.epoch, end.n, "1-1")),
    }[kind]
    batch = await feed.read(cursor, ALL, wait_ms=wait_ms)
    assert batch.truncated
    assert ids(batch) == wanted
    after = await feed.read(batch.cursor, ALL)
    assert (after.truncated, after.decisions) == (False, ())
    assert ids(await feed.read(batch.start, ALL)) == wanted


async def test_a_cursor_older_than_what_is_kept_is_a_gap(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    made = await decide_many(store, 6)
    second = (await feed.read(cursor, ALL)).cursors[1]
    assert await store.log.trim(3, 0) == 3
    old = await feed.read(second, ALL)
    assert old.truncated
    assert ids(old) == made[3:]
    assert not (await feed.read(old.cursor, ALL)).truncated


async def test_a_cursor_at_the_edge_of_what_is_kept_is_none(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    made = await decide_many(store, 6)
    third = (await feed.read(cursor, ALL)).cursors[2]
    await store.log.trim(3, 0)
    batch = await feed.read(third, ALL)
    assert (batch.truncated, ids(batch)) == (False, made[3:])


async def test_the_cursor_passes_what_the_filter_hides(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    await decide(store, "other")
    mine = await decide(store, "mine")
    await decide(store, "other")
    batch = await feed.read(cursor, Filter(scope="mine"))
    assert ids(batch) == [mine]
    hidden = await feed.read(batch.cursor, Filter(scope="nobody"))
    assert (hidden.decisions, hidden.cursor) == ((), (await feed.read(None, ALL)).cursor)


async def test_filters_let_through_what_they_name(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    note = await decide(store, "ops/db", route=Route.NOTE, confidence=0.4)
    sure = await decide(store, "ops/web", confidence=0.9)
    bare = await decide(store, "app/x", route=Route.ASK)

    async def read(**wanted: Any) -> list[str]:
        return ids(await feed.read(cursor, Filter(**wanted)))

    assert await read(scope="ops/db") == [note]
    assert await read(scope_prefix="ops/") == [note, sure]
    assert await read(routes=frozenset({Route.NOTE, Route.ASK})) == [note, bare]
    assert await read(min_confidence=0.5) == [sure]
    assert await read(min_confidence=0) == [note, sure]
    assert await read(visible=("app/", "ops/w")) == [sure, bare]
    assert await read(visible=()) == []


async def test_a_waiting_read_gets_what_comes(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    made: list[str] = []

    async def decide_two() -> None:
        await decide(store, "other")
        made.append(await decide(store, "mine"))

    batch = await later(feed.read(cursor, Filter(scope="mine"), wait_ms=LONG_MS), decide_two)
    assert ids(batch) == made
    from_now = await later(feed.read(None, Filter(scope="mine"), wait_ms=LONG_MS), decide_two)
    assert ids(from_now) == made[1:]


async def test_a_wait_ends_with_nothing(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    await decide(store, "other")
    batch = await feed.read(cursor, Filter(scope="mine"), wait_ms=150)
    assert (batch.decisions, batch.truncated) == ((), False)
    assert batch.cursor != cursor


async def test_a_wait_ends_when_told_to(store: ScopeStore, feed: Feed) -> None:
    stopped: list[bool] = []

    async def stop() -> None:
        stopped.append(True)
        feed.wake()

    batch = await later(feed.read(None, ALL, wait_ms=LONG_MS, stop=lambda: bool(stopped)), stop)
    assert batch.decisions == ()


async def test_many_readers_share_one_tailer(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    got: list[list[str]] = []
    wanted: list[str] = []

    async def follow() -> None:
        place = cursor
        mine: list[str] = []
        while len(mine) < 20:
            batch = await feed.read(place, ALL, wait_ms=LONG_MS)
            mine += ids(batch)
            place = batch.cursor
        got.append(mine)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(follow)
        await anyio.sleep(0.05)
        wanted += await decide_many(store, 20)
    assert got == [wanted] * 50


async def test_decisions_before_an_instant_are_passed_by(store: ScopeStore, feed: Feed) -> None:
    cursor = (await feed.read(None, ALL)).cursor
    await decide(store, decided_at=AT)
    young = await decide(store, decided_at=AT + 10)
    batch = await feed.read(cursor, ALL, since=AT + 5)
    assert (ids(batch), batch.truncated) == ([young], True)
    assert not (await feed.read(cursor, ALL, since=AT)).truncated


async def test_a_reader_far_behind_reads_the_store(feed: Feed, store: ScopeStore) -> None:
    if not isinstance(store, MemoryStore):
        pytest.skip("the ring is the same whatever the store is")
    cursor = (await feed.read(None, ALL)).cursor
    await feed.start()
    wanted = await decide_many(store, RING_ROWS + 300)
    with anyio.fail_after(30):
        while len(ids(await feed.read(cursor, ALL, wait_ms=LONG_MS, limit=10))) < 10:
            pass
    got: list[str] = []
    place = cursor
    while len(got) < len(wanted):
        batch = await feed.read(place, ALL, limit=97, wait_ms=LONG_MS)
        got += ids(batch)
        place = batch.cursor
    assert got == wanted


async def test_a_log_that_is_made_again_is_a_gap_and_wakes_who_waits(valkey: Server) -> None:
    store = RedisStore(valkey.url, prefix="again")
    await store.open()
    feed = Feed(store.log, SystemClock())
    try:
        await decide_many(store, 2)
        cursor = (await feed.read(None, ALL)).cursor
        made: list[str] = []

        async def make_again() -> None:
            async with redis.asyncio.Redis(unix_socket_path=valkey.path) as client:
                await client.delete("attend:{again}:log")
            made.extend(await decide_many(store, 3))

        waiting = await later(feed.read(cursor, ALL, wait_ms=LONG_MS), make_again)
        assert waiting.truncated
        rest = ids(await feed.read(waiting.cursor, ALL))
        assert ids(waiting) + rest == made
        polled = await feed.read(cursor, ALL)
        assert (polled.truncated, ids(polled)) == (True, made)
        assert not (await feed.read(polled.cursor, ALL)).truncated
    finally:
        await feed.close()
        await store.close()


async def test_a_log_that_somebody_emptied_is_a_gap_once(valkey: Server) -> None:
    store = RedisStore(valkey.url, prefix="emptied")
    await store.open()
    feed = Feed(store.log, SystemClock())
    try:
        cursor = (await feed.read(None, ALL)).cursor
        await decide_many(store, 3)
        client: Any = redis.asyncio.Redis(unix_socket_path=valkey.path)
        async with client:
            await client.xtrim("attend:{emptied}:log", maxlen=0, approximate=False)
        gap = await feed.read(cursor, ALL)
        assert (gap.truncated, gap.decisions) == (True, ())
        made = await decide_many(store, 3)
        after = await feed.read(gap.cursor, ALL)
        assert (after.truncated, ids(after)) == (False, made)
    finally:
        await feed.close()
        await store.close()


async def test_readers_outlive_the_server(new_server: Callable[..., Server]) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    store = RedisStore(server.url, timeout_ms=500)
    await store.open()
    feed = Feed(store.log, SystemClock())
    try:
        cursor = (await feed.read(None, ALL)).cursor
        made = await decide_many(store, 2)
        assert ids(await feed.read(cursor, ALL, wait_ms=LONG_MS)) == made
        cursor = (await feed.read(None, ALL)).cursor
        server.kill()
        with pytest.raises(StoreUnavailableError):
            await feed.read(cursor, ALL)
        with pytest.raises(StoreUnavailableError):
            await feed.read(cursor, ALL, wait_ms=1500)
        found: list[Batch] = []

        async def follow() -> None:
            found.append(await feed.read(cursor, ALL, wait_ms=LONG_MS))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            server.start()
            with anyio.fail_after(20):
                while True:
                    try:
                        made = [await decide(store)]
                        break
                    except StoreUnavailableError:
                        await anyio.sleep(0.05)
        assert (found[0].truncated, ids(found[0])) == (False, made)
    finally:
        await feed.close()
        await store.close()


@pytest.mark.parametrize("id", ["0-0", "1760570000000-5"])
def test_a_cursor_comes_back_as_it_was(id: str) -> None:
    position = Position("0a1b2c", 7, id)
    cursor = encode_cursor(position)
    assert cursor.isascii()
    assert "=" not in cursor
    assert decode_cursor(cursor) == position


@pytest.mark.parametrize(
    "forged",
    [
        ("e", -1, "0-0"),
        ("e", 1, "x"),
        ("e", 1, "1-" + "9" * 20),
        ("e", 2**63, "0-0"),
        (1, 1, "0-0"),
        ("e", 1),
    ],
)
def test_a_forged_cursor_is_none_of_ours(forged: tuple[Any, ...]) -> None:
    assert (
        decode_cursor(base64.urlsafe_b64encode(msgspec.msgpack.encode(forged)).decode().rstrip("=")) is None
    )
