"""Servers that die, freeze, fill up or refuse: attend's own error with what to do, and then on by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis.exceptions
from redis.asyncio import Redis

from attend.core.types import Lane
from attend.errors import StoreUnavailableError
from attend.store.base import Loaded, Outcome, StoredWindow
from attend.store.redis import RedisStore
from attend.testing.making import AT, committed, logged, row, write
from tests.proxy import Proxy
from tests.servers import Server, bundled_binary, redis_binary

pytestmark = pytest.mark.anyio

Servers = Callable[..., Server]


def plain(server: Server) -> Any:
    return Redis.from_url(server.url)  # pyright: ignore[reportUnknownMemberType]


async def works_again(call: Callable[[], Awaitable[object]], within: float = 30) -> None:
    """Try until it works, as a caller would."""
    deadline = time.monotonic() + within
    while True:
        try:
            await call()
            return
        except StoreUnavailableError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


async def test_what_was_answered_survives_a_kill_with_an_append_only_file(new_server: Servers) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    store = RedisStore(server.url)
    await store.open()
    position = await store.log.start()
    made = write(snapshot=b"snap", rows=(row("r", held=True),), due={Lane.SETTLE: AT})
    assert await store.commit([made]) == [Outcome.OK]
    server.restart()
    await works_again(store.server_now)
    assert await store.commit([made]) == [Outcome.OK]
    assert await store.load([("a", "")]) == [Loaded(Outcome.OK, made.version, b"snap")]
    assert (await store.claim(Lane.SETTLE, AT, 9, AT + 2000)).scopes == ("a",)
    page = await store.log.read(position, 9)
    assert ([row.position.n for row in page.rows], page.truncated) == ([1], False)
    assert await store.window("r") == StoredWindow(b"window of r", b"summary of r", False)
    await store.close()


async def test_writers_lose_nothing_to_kills(new_server: Servers) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    store = RedisStore(server.url)
    await store.open()
    done = 0
    reached = {part: asyncio.Event() for part in (100, 250)}

    async def add(scope: str) -> None:
        nonlocal done
        have = ""
        for n in range(60):
            made = write(scope, have, entry=b"%d" % n, rows=(row(f"{scope}-{n}"),))

            async def send(made: Any = made) -> None:
                assert await store.commit([made]) == [Outcome.OK]

            await works_again(send)
            have = made.version
            done += 1
            if done in reached:
                reached[done].set()

    writers = asyncio.gather(*(add(f"s{n}") for n in range(8)))
    for part in reached.values():
        await part.wait()
        await asyncio.to_thread(server.restart)
    await writers
    for loaded in await store.load([(f"s{n}", "") for n in range(8)]):
        assert loaded.tail == tuple(b"%d" % n for n in range(60))
    page = await store.log.read(await store.log.start(), 999)
    assert [row.position.n for row in page.rows] == list(range(1, 481))
    await store.close()


async def test_a_server_that_is_gone_is_unavailable(new_server: Servers) -> None:
    server = new_server()
    store = RedisStore(server.url)
    await store.open()
    sleeping = asyncio.create_task(store.sleep([Lane.SETTLE], 20_000))
    waiting = asyncio.create_task(store.log.wait(await store.log.end(), 20_000))
    await asyncio.sleep(0.1)
    server.kill()
    calls: list[Awaitable[object]] = [
        sleeping,
        waiting,
        store.commit([write()]),
        store.load([("a", "")]),
        store.claim(Lane.SETTLE, AT, 1, AT),
        store.sleep([Lane.SETTLE], 1000),
        store.log.end(),
        store.server_now(),
        store.register("d", b""),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            await asyncio.wait_for(call, 15)
    server.start()
    await committed(store)
    await store.close()


async def test_a_frozen_link_times_out_and_a_thawed_one_works(valkey: Server) -> None:
    async with Proxy(valkey.path) as proxy:
        store = RedisStore(proxy.url, prefix="frozen", timeout_ms=300)
        await store.open()
        one = await committed(store, "frozen")
        end = await store.log.end()
        proxy.freeze()
        made = write("frozen", one)
        calls: list[Awaitable[object]] = [
            store.commit([made]),
            store.sleep([Lane.SETTLE], 100),
            store.log.wait(end, 100),
            store.server_now(),
        ]
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 15)
        assert [type(result) for result in results] == [StoreUnavailableError] * 4
        assert "did not answer in time" in str(results[0])
        proxy.thaw()

        async def send_again() -> None:
            assert await store.commit([made]) == [Outcome.OK]

        await works_again(send_again)
        assert len((await store.load([("frozen", "")]))[0].tail) == 2
        await store.remove("frozen")
        await store.close()


async def test_a_cut_link_is_replaced_at_once(valkey: Server) -> None:
    async with Proxy(valkey.path) as proxy:
        store = RedisStore(proxy.url, prefix="cut")
        await store.open()
        have = ""
        for _ in range(20):
            made = write("cut", have)
            sending = asyncio.create_task(store.commit([made]))
            await asyncio.sleep(0.001)
            proxy.cut()
            await asyncio.gather(sending, return_exceptions=True)

            async def send_again(made: Any = made) -> None:
                assert await store.commit([made]) == [Outcome.OK]

            await works_again(send_again)
            have = made.version
        assert len((await store.load([("cut", "")]))[0].tail) == 20
        await store.remove("cut")
        await store.close()


async def test_a_blocking_call_outlives_the_timeout_of_others(valkey: Server) -> None:
    store = RedisStore(valkey.url, prefix="slow", timeout_ms=200)
    await store.open()
    end = await store.log.end()
    slept, waited = await asyncio.gather(store.sleep([Lane.SETTLE], 700), store.log.wait(end, 700))
    assert (slept, waited) == (None, False)
    await store.close()


async def test_cancelled_calls_leave_the_store_working(valkey: Server) -> None:
    async with Proxy(valkey.path) as proxy:
        proxy.delay = 0.01
        store = RedisStore(proxy.url, prefix="cancel", max_connections=3)
        await store.open()
        end = await store.log.end()
        for n in range(40):
            call = asyncio.create_task(store.load([(f"s{n}", "")]))
            waiting = asyncio.create_task(store.log.wait(end, 5000))
            await asyncio.sleep(0.003 * (n % 5))
            call.cancel()
            waiting.cancel()
            await asyncio.gather(call, waiting, return_exceptions=True)
        assert (await store.load([("nobody", "")]))[0] == Loaded(Outcome.OK)
        await store.close()


@pytest.mark.parametrize("binary", [bundled_binary, redis_binary])
async def test_a_full_server_refuses_whole_writes_and_still_trims(
    new_server: Servers, binary: Callable[[], str]
) -> None:
    server = new_server("--maxmemory-policy", "noeviction", binary=binary)
    store = RedisStore(server.url)
    await store.open()
    await logged(store, *(f"d{n}" for n in range(20)))
    one = await committed(store, due={Lane.SETTLE: AT})
    async with plain(server) as raw:
        await raw.config_set("maxmemory", "1")
        before = {key: await raw.dump(key) for key in await raw.keys("*")}
        with pytest.raises(StoreUnavailableError, match="out of memory"):
            await store.commit([write(expected=one, due={Lane.SETTLE: None}, rows=(row("r"),)), write("b")])
        with pytest.raises(StoreUnavailableError, match="out of memory"):
            await store.commit([write(expected=one, snapshot=b"new", due={Lane.SETTLE: None})])
        assert {key: await raw.dump(key) for key in await raw.keys("*")} == before
        assert len((await store.log.read(await store.log.start(), 99)).rows) == 20
        assert (await store.load([("a", "")]))[0].version == one
        assert await store.log.trim(5, 0) == 15
        await raw.config_set("maxmemory", "0")
    await committed(store, expected=one)
    await store.close()


async def test_a_replica_is_unavailable_until_it_is_the_primary(new_server: Servers) -> None:
    server = new_server()
    store = RedisStore(server.url)
    await store.open()
    await committed(store)
    async with plain(server) as raw:
        await raw.replicaof("127.0.0.1", "1")
        with pytest.raises(StoreUnavailableError, match="replica"):
            await store.commit([write("b")])
        await raw.replicaof("NO", "ONE")
    await committed(store, "b")
    await store.close()


async def test_too_few_replicas_is_unavailable(new_server: Servers) -> None:
    server = new_server()
    store = RedisStore(server.url)
    await store.open()
    async with plain(server) as raw:
        await raw.config_set("min-replicas-to-write", "1")
        with pytest.raises(StoreUnavailableError, match="min-replicas-to-write"):
            await store.commit([write()])
        await raw.config_set("min-replicas-to-write", "0")
    await committed(store)
    await store.close()


async def test_a_script_of_somebody_else_that_blocks_is_unavailable(new_server: Servers) -> None:
    server = new_server("--busy-reply-threshold", "50")
    store = RedisStore(server.url)
    await store.open()
    async with plain(server) as raw, plain(server) as killer:
        looping = asyncio.create_task(raw.eval("while true do end", 0))
        await asyncio.sleep(0.3)
        with pytest.raises(StoreUnavailableError, match="SCRIPT KILL"):
            await store.commit([write()])
        await killer.script_kill()
        with pytest.raises(redis.exceptions.ResponseError):
            await looping
    await works_again(lambda: committed(store))
    await store.close()


async def test_a_password_that_is_missing_or_wrong_is_said(new_server: Servers) -> None:
    server = new_server()
    async with plain(server) as raw:
        await raw.config_set("requirepass", "secret")
    for url in (server.url, f"unix://:wrong@{server.path}"):
        store = RedisStore(url)
        with pytest.raises(StoreUnavailableError, match="user or password"):
            await store.open()
        await store.close()
    store = RedisStore(f"unix://:secret@{server.path}")
    await store.open()
    await store.close()


async def test_more_calls_than_connections_wait_for_one(valkey: Server) -> None:
    store = RedisStore(valkey.url, prefix="few", max_connections=2)
    await store.open()
    await asyncio.gather(*(store.server_now() for _ in range(50)))
    await store.close()


async def test_calls_that_get_no_connection_in_time_are_told_so(valkey: Server) -> None:
    async with Proxy(valkey.path) as proxy:
        store = RedisStore(proxy.url, prefix="few", max_connections=2, timeout_ms=400)
        await store.open()
        proxy.freeze()
        calls = (store.server_now() for _ in range(5))
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 15)
        assert {type(result) for result in results} == {StoreUnavailableError}
        await store.close()
