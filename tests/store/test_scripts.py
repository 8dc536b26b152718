"""Loading scripts, and what a server that forgot them or cannot run them makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from attend.core.types import Lane
from attend.errors import ConfigError, StoreUnavailableError
from attend.store import scripts
from attend.store.base import Outcome
from attend.store.keys import Keys
from attend.store.news_log import NewsRow
from attend.store.redis import RedisStore
from attend.store.scripts import expand
from attend.testing.making import AT, committed, logged, row, write


def reader(**fragments: str) -> Callable[[str], str]:
    return fragments.__getitem__


def test_an_include_is_put_in_its_place_once() -> None:
    text = "-- head\n-- @include one\n-- @include two\nbody\n"
    read = reader(one="-- @include two\nfirst\n", two="second\n")
    assert expand(text, read) == "-- head\nsecond\nfirst\n\nbody\n"


def test_what_only_looks_like_an_include_is_left() -> None:
    text = "  -- @include one\n--@include one\n-- @include\n-- @include one two\n"
    assert expand(text, reader()) == text


def test_a_circular_include_is_refused() -> None:
    with pytest.raises(ValueError, match="circular include: one -> two -> one"):
        expand("-- @include one\n", reader(one="-- @include two\n", two="-- @include one\n"))


def test_an_include_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand("-- @include nowhere\n", reader())


@pytest.mark.anyio
async def test_every_script_survives_a_script_flush(redis_store: RedisStore, raw: Any) -> None:
    async def flushed() -> None:
        await raw.script_flush()

    await flushed()
    version = await committed(redis_store, rows=(row("a"),), due={Lane.SETTLE: AT})
    await flushed()
    assert (await redis_store.load([("a", "")]))[0].version == version
    await flushed()
    assert (await redis_store.claim(Lane.SETTLE, AT, 1, AT + 2000)).scopes == ("a",)
    await flushed()
    assert await redis_store.release(Lane.SETTLE, "a", version, AT + 2000, AT)
    await flushed()
    await redis_store.pass_on(Lane.BURY)
    await flushed()
    assert await redis_store.register("d", b"") == 1
    await flushed()
    assert await redis_store.log.trim(0, 0) == 1
    await flushed()
    assert await redis_store.remove("a", version)
    await raw.delete("attend:{default}:meta")
    await flushed()
    assert (await redis_store.log.end()).n == 0


@pytest.mark.anyio
async def test_a_flush_in_the_middle_of_many_commits_costs_none(redis_store: RedisStore, raw: Any) -> None:
    async def add(n: int) -> None:
        assert await redis_store.commit([write(f"s{n}")]) == [Outcome.OK]

    await asyncio.gather(*(add(n) for n in range(50)), raw.script_flush(), *(add(n) for n in range(50, 99)))


@pytest.mark.anyio
async def test_a_script_with_a_syntax_error_stops_the_store_from_opening(
    url: str, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "source", lambda name: f"-- {name}\nreturn (")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    store = RedisStore(url)
    with pytest.raises(StoreUnavailableError, match="compiling script"):
        await store.open()
    await store.close()


@pytest.mark.anyio
async def test_every_key_is_in_one_slot_and_under_the_prefix(url: str, raw: Any) -> None:
    store = RedisStore(url, prefix="shop")
    await store.open()
    scope = "{other}tag"
    one = await committed(store, scope, rows=(row("r"),), due=dict.fromkeys(Lane, AT))
    await committed(store, scope, one, entry=b"more", news=(NewsRow(b"n", "c", "opens"),))
    await store.register("d", b"")
    names = [key.decode() for key in await raw.keys("*")]
    assert len(names) == 16
    assert all(name.startswith("attend:{shop}:") for name in names)
    await store.close()


@pytest.mark.anyio
async def test_stores_of_different_prefixes_do_not_meet(url: str, redis_store: RedisStore) -> None:
    other = RedisStore(url, prefix="other")
    await other.open()
    await committed(redis_store, due={Lane.SETTLE: AT})
    await logged(redis_store, "d")
    assert (await other.load([("a", "")]))[0].version == ""
    assert (await other.claim(Lane.SETTLE, AT, 9, AT)).scopes == ()
    assert (await other.log.end()).n == 0
    await other.close()


@pytest.mark.parametrize("prefix", ["", "a{b", "a}b", "a\nb"])
def test_a_prefix_that_cannot_be_a_hash_tag_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError, match="prefix is"):
        Keys(prefix)


@pytest.mark.parametrize("url", ["", "http://localhost", "localhost:6379", "redis://localhost:port"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="store is"):
        RedisStore(url)
