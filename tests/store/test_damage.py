"""What the Redis store makes of keys that somebody lost, changed or replaced: it says so, and goes on."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from attend.core.types import Lane
from attend.errors import StateFormatError, StoreCorruptError
from attend.store.base import Dropped, Kept, Loaded, Outcome, Position
from attend.store.redis import RedisStore
from attend.testing.making import AT, committed, logged, row, write

pytestmark = pytest.mark.anyio

BASE = "attend:{default}:"


async def dump(raw: Any) -> dict[bytes, bytes]:
    """Everything the server holds."""
    return {key: await raw.dump(key) for key in sorted(await raw.keys("*"))}


async def stored(store: RedisStore, have: str = "?") -> Loaded:
    return (await store.load([("a", have)]))[0]


@pytest.fixture
async def version(redis_store: RedisStore) -> str:
    """A scope `a` with a snapshot, two entries and a due instant."""
    one = await committed(redis_store, snapshot=b"snap", due={Lane.SETTLE: AT})
    two = await committed(redis_store, expected=one, entry=b"first")
    return await committed(redis_store, expected=two, entry=b"second")


LOSSES = {
    "the snapshot": ("DEL", f"{BASE}s:a"),
    "the tail": ("DEL", f"{BASE}t:a"),
    "an entry": ("LPOP", f"{BASE}t:a"),
    "the version": ("HDEL", f"{BASE}s:a", "v"),
    "the snapshot's version": ("HDEL", f"{BASE}s:a", "sv"),
    "a version's count": ("HSET", f"{BASE}s:a", "v", "x"),
    "entries twice": ("RPUSH", f"{BASE}t:a", "3-y again"),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_scope_that_lost_something_is_lost_until_it_is_restarted(
    redis_store: RedisStore, raw: Any, version: str, loss: str
) -> None:
    await raw.execute_command(*LOSSES[loss])
    assert (await stored(redis_store)).outcome is Outcome.LOST
    before = await dump(raw)
    for expected in ("", version, "9-stranger"):
        made = write(expected=expected, due={Lane.SETTLE: AT + 1}, rows=(row("r"),))
        assert await redis_store.commit([made]) == [Outcome.LOST]
    assert await dump(raw) == before
    restart = write(snapshot=b"new", restart=True, due={Lane.SETTLE: AT + 1}, version="4-n")
    other = write(snapshot=b"other", restart=True, version="4-o")
    assert await redis_store.commit([restart]) == [Outcome.OK]
    assert await redis_store.commit([other]) == [Outcome.CONFLICT]
    assert await redis_store.commit([restart]) == [Outcome.OK]
    assert await stored(redis_store) == Loaded(Outcome.OK, "4-n", b"new")
    await committed(redis_store, expected="4-n", entry=b"goes on")


async def test_of_many_who_restart_a_lost_scope_one_is_ok(
    redis_store: RedisStore, raw: Any, version: str
) -> None:
    await raw.delete(f"{BASE}t:a")
    writes = [write(snapshot=b"%d" % n, restart=True) for n in range(20)]
    outcomes = [one for (one,) in await asyncio.gather(*(redis_store.commit([made]) for made in writes))]
    assert sorted(outcomes) == [Outcome.CONFLICT] * 19 + [Outcome.OK]


@pytest.mark.parametrize("key", ["s:a", "t:a", "w:r", "w:k", "w:d"])
async def test_a_key_of_another_type_makes_its_scope_bad_and_no_other(
    redis_store: RedisStore, raw: Any, key: str
) -> None:
    await raw.set(BASE + key, "somebody's")
    before = await dump(raw)
    made = write(
        rows=(row("q"), row("r")), keep=(Kept("k", b""),), drop=(Dropped("d", True),), due={Lane.SETTLE: AT}
    )
    assert await redis_store.commit([made]) == [Outcome.BAD]
    assert await dump(raw) == before
    assert await redis_store.commit([write("b"), made, write("c")]) == [Outcome.OK, Outcome.BAD, Outcome.OK]
    loaded = await redis_store.load([("b", ""), ("a", ""), ("c", "")])
    in_scope = key in ("s:a", "t:a")
    assert [one.outcome for one in loaded] == ["ok", "bad" if in_scope else "ok", "ok"]
    await redis_store.remove("a")
    assert (await stored(redis_store)).outcome is Outcome.OK


@pytest.mark.parametrize("key", ["meta", "log", "scopes", "due:settle", "due:bury", "wake:deliver"])
async def test_a_shared_key_of_another_type_refuses_the_group_and_names_the_key(
    redis_store: RedisStore, raw: Any, key: str
) -> None:
    await raw.delete(BASE + key)
    await raw.set(BASE + key, "somebody's")
    before = await dump(raw)
    made = write(rows=(row("r"),), due=dict.fromkeys(Lane, AT))
    with pytest.raises(StoreCorruptError, match=key):
        await redis_store.commit([write("b"), made])
    assert await dump(raw) == before
    await raw.delete(BASE + key)
    assert await redis_store.commit([write("b"), made]) == [Outcome.OK] * 2


async def test_a_refusal_changes_nothing(redis_store: RedisStore, raw: Any, version: str) -> None:
    await redis_store.claim(Lane.SETTLE, AT, 1, AT + 2000)
    before = await dump(raw)
    made = write(
        expected="1-stranger",
        snapshot=b"no",
        due=dict.fromkeys(Lane, AT),
        rows=(row("r", held=True),),
        keep=(Kept("k", b""),),
        drop=(Dropped("d", True),),
    )
    assert await redis_store.commit([made]) == [Outcome.CONFLICT]
    assert not await redis_store.release(Lane.SETTLE, "a", "1-stranger", AT + 2000, AT)
    assert not await redis_store.release(Lane.SETTLE, "a", version, AT + 2001, AT)
    assert not await redis_store.remove("a", "1-stranger")
    assert (await redis_store.claim(Lane.SETTLE, AT, 9, AT + 9000)).scopes == ()
    assert await redis_store.log.trim(0, 0) == 0
    await redis_store.load([("a", ""), ("b", "")])
    assert await dump(raw) == before


async def test_a_store_of_a_newer_format_is_refused(url: str, raw: Any) -> None:
    await raw.hset(f"{BASE}meta", "format", 2)
    store = RedisStore(url)
    with pytest.raises(StateFormatError, match="format 2"):
        await store.open()
    await store.close()


async def all_after(store: RedisStore, position: Position, limit: int = 3) -> tuple[list[int], list[bool]]:
    """The numbers of every row from a position on, and each page's `truncated`, until there is no more."""
    seen: list[int] = []
    truncated: list[bool] = []
    for _ in range(50):
        page = await store.log.read(position, limit)
        seen += [row.position.n for row in page.rows]
        truncated.append(page.truncated)
        position = page.position
        assert re.fullmatch(r"\d+-\d+", position.id)
        if not page.rows and not page.truncated and not page.more:
            return seen, truncated
    raise AssertionError(f"never came to an end: {seen} {truncated}")


async def positions(store: RedisStore) -> list[Position]:
    """The position before the first row, then after each."""
    start = await store.log.start()
    return [start, *(row.position for row in (await store.log.read(start, 999)).rows)]


async def test_rows_cut_off_by_hand_are_truncated(redis_store: RedisStore, raw: Any) -> None:
    await logged(redis_store, *(f"d{n}" for n in range(6)))
    at = await positions(redis_store)
    await raw.xtrim(f"{BASE}log", maxlen=2, approximate=False)
    for n in range(5):
        seen, truncated = await all_after(redis_store, at[n])
        assert (seen, truncated[0], any(truncated[1:])) == ([5, 6], True, False), n
    assert await all_after(redis_store, at[5]) == ([6], [False, False])
    assert await all_after(redis_store, at[6]) == ([], [False])


async def test_a_row_deleted_by_hand_in_the_middle_is_truncated_once(
    redis_store: RedisStore, raw: Any
) -> None:
    await logged(redis_store, *(f"d{n}" for n in range(6)))
    at = await positions(redis_store)
    await raw.xdel(f"{BASE}log", at[3].id)
    for limit in (1, 2, 3, 9):
        seen, truncated = await all_after(redis_store, at[0], limit)
        assert (seen, sum(truncated)) == ([1, 2, 4, 5, 6], 1)
        assert (await all_after(redis_store, at[2], limit))[0] == [4, 5, 6]
    assert not any((await all_after(redis_store, at[4]))[1])
    page = await redis_store.log.read(at[3], 9)
    assert page.truncated


@pytest.mark.parametrize("gone", [(6,), (5, 6), (1, 6)])
async def test_the_newest_rows_deleted_by_hand_are_truncated_once(
    redis_store: RedisStore, raw: Any, gone: tuple[int, ...]
) -> None:
    await logged(redis_store, *(f"d{n}" for n in range(6)))
    at = await positions(redis_store)
    await raw.xdel(f"{BASE}log", *(at[n].id for n in gone))
    for n in range(6):
        _, truncated = await all_after(redis_store, at[n])
        assert any(truncated), n
        assert truncated[-1] is False
    end = await redis_store.log.end()
    assert end.n == 6
    assert await all_after(redis_store, end) == ([], [False])
    await logged(redis_store, "later")
    assert await all_after(redis_store, end) == ([7], [False, False])


async def test_a_log_deleted_by_hand_is_truncated_once_and_goes_on(redis_store: RedisStore, raw: Any) -> None:
    await logged(redis_store, "a", "b")
    at = await positions(redis_store)
    await raw.delete(f"{BASE}log")
    pages = [await redis_store.log.read(position, 9) for position in at]
    for page in pages:
        assert (page.rows, page.truncated) == ((), True)
        assert not (await redis_store.log.read(page.position, 9)).truncated
    await logged(redis_store, "c")
    for page in pages:
        seen, truncated = await all_after(redis_store, page.position)
        assert (seen, any(truncated)) == ([3], False)
    seen, truncated = await all_after(redis_store, at[1])
    assert (seen, truncated[0]) == ([3], True)


async def test_a_log_whose_meta_is_lost_has_another_epoch_and_counts_on(
    redis_store: RedisStore, raw: Any
) -> None:
    await logged(redis_store, *(f"d{n}" for n in range(4)))
    at = await positions(redis_store)
    await redis_store.log.trim(3, 0)
    await raw.delete(f"{BASE}meta")
    await logged(redis_store, "later")
    seen, truncated = await all_after(redis_store, at[4])
    assert (seen, truncated[0], any(truncated[1:])) == ([2, 3, 4, 5], True, False)
    assert (await redis_store.log.start()).epoch != at[0].epoch


async def test_a_flushed_store_is_another_log(redis_store: RedisStore, raw: Any) -> None:
    await logged(redis_store, "a", "b")
    end = await redis_store.log.end()
    await raw.flushall()
    page = await redis_store.log.read(end, 9)
    assert (page.rows, page.truncated) == ((), True)
    assert await redis_store.log.wait(end, 30_000)
    await logged(redis_store, "a")
    assert await all_after(redis_store, page.position) == ([1], [False, False])


async def test_a_log_rolled_back_in_a_failover_is_truncated(redis_store: RedisStore, raw: Any) -> None:
    await logged(redis_store, "a", "b")
    kept = {key: await raw.dump(key) for key in (f"{BASE}log", f"{BASE}meta")}
    await logged(redis_store, "never replicated")
    ahead = await redis_store.log.end()
    for key, value in kept.items():
        await raw.restore(key, 0, value, replace=True)
    assert (await redis_store.log.read(ahead, 9)).truncated
    await asyncio.sleep(0.005)  # a stream's ids are its server's milliseconds
    await logged(redis_store, "in its place", "and one more")
    seen, truncated = await all_after(redis_store, ahead)
    assert (seen, truncated[0], any(truncated[1:])) == ([1, 2, 3, 4], True, False)


async def test_entries_of_others_in_the_log_are_passed_over(redis_store: RedisStore, raw: Any) -> None:
    start = await redis_store.log.start()
    for n in range(4):
        await logged(redis_store, f"d{n}")
        for _ in range(5):
            await raw.xadd(f"{BASE}log", {"n": "what", "x": "y"})
    for limit in (1, 2, 9):
        seen, truncated = await all_after(redis_store, start, limit)
        assert (seen, any(truncated)) == ([1, 2, 3, 4], False)
    end = await redis_store.log.end()
    assert await all_after(redis_store, end) == ([], [False])
    await logged(redis_store, "later")
    assert (await all_after(redis_store, end))[0] == [5]
    waiting = (await redis_store.log.read(await redis_store.log.start(), 99)).position
    assert not await redis_store.log.wait(waiting, 30)
