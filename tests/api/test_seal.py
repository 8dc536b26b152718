"""What a reader's cursors and counts say of decisions that it may not see: nothing."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator

import anyio
import pytest

from attend.clock import SystemClock
from attend.feed import MOST_SCANNED, Feed, Filter
from attend.seal import Seal
from attend.store.base import Position, ScopeStore
from attend.store.memory import MemoryStore
from tests.api.rows import decide, decide_many

pytestmark = pytest.mark.anyio

SEAL = Seal(b"s" * 32, "0a1b2c")
MINE = Filter(visible=("mine/",))


@pytest.fixture
async def feed(store: ScopeStore) -> AsyncGenerator[Feed]:
    """A feed of the store."""
    made = Feed(store.log, SystemClock())
    yield made
    await made.close()


@pytest.mark.parametrize("unlike", [False, True])
@pytest.mark.parametrize("n", [0, 7, 2**40])
@pytest.mark.parametrize("epoch", ["", "0a1b2c0a1b2c0a1b", "e" * 100])
def test_a_sealed_cursor_opens_to_what_it_was(epoch: str, n: int, unlike: bool) -> None:
    position = Position(epoch, n, "1760570000000-5")
    cursor = SEAL.close(position, unlike=unlike)
    assert cursor.isascii()
    assert "=" not in cursor
    assert SEAL.open(cursor) == position
    assert Seal(b"t" * 32, epoch).open(cursor) is None


def test_equal_places_have_equal_cursors_unless_they_are_not_to() -> None:
    position = Position("0a1b2c", 7, "1760570000000-5")
    assert SEAL.close(position, unlike=False) == SEAL.close(position, unlike=False)
    assert len({SEAL.close(position, unlike=True) for _ in range(50)}) == 50


def test_a_cursor_is_as_long_whatever_it_says() -> None:
    places = [Position("0" * 16, n, id) for n in (0, 300, 2**40) for id in ("0-0", "1760570000000-12345")]
    assert len({len(SEAL.close(place, unlike=True)) for place in places}) == 1


def test_a_cursor_that_was_touched_opens_to_nothing() -> None:
    sealed = bytearray(
        base64.urlsafe_b64decode(SEAL.close(Position("0a1b2c", 7, "1-5"), unlike=False) + "==")
    )
    for place in range(len(sealed)):
        sealed[place] ^= 1
        assert SEAL.open(base64.urlsafe_b64encode(sealed).decode().rstrip("=")) is None
        sealed[place] ^= 1
    for cursor in ("", "x", "A" * 22, "\u00e9", "A" * 10_000):
        assert SEAL.open(cursor) is None


async def test_hidden_rows_end_no_read_and_make_no_more(store: ScopeStore, feed: Feed) -> None:
    start = (await feed.read(None, MINE)).cursor
    await decide_many(store, 3, "others/1")
    mine = [await decide(store, "mine/1")]
    await decide_many(store, 600, "others/1")
    for follow in (False, True):
        batch = await feed.read(start, MINE, limit=1, follow=follow)
        assert ([each.id for each in batch.decisions], batch.more) == (mine, False)
    mine.append(await decide(store, "mine/2"))
    await decide(store, "others/2")
    batch = await feed.read(start, MINE, limit=1)
    assert ([each.id for each in batch.decisions], batch.more) == (mine[:1], True)
    batch = await feed.read(batch.cursor, MINE, limit=1)
    assert ([each.id for each in batch.decisions], batch.more) == (mine[1:], False)


async def test_more_hidden_rows_than_a_read_scans_say_nothing(store: ScopeStore, feed: Feed) -> None:
    if not isinstance(store, MemoryStore):
        pytest.skip("how much is scanned is the same whatever the store is")
    start = (await feed.read(None, MINE)).cursor
    await decide_many(store, MOST_SCANNED + 5, "others/1")
    batch = await feed.read(start, MINE)
    assert (batch.decisions, batch.more, batch.truncated) == ((), False, False)
    assert (await feed.read(start, Filter(scope="mine/2"))).more


async def test_no_two_cursors_of_a_reader_that_sees_some_scopes_are_the_same(
    store: ScopeStore, feed: Feed
) -> None:
    cursors = [(await feed.read(None, MINE)).cursor]
    for _ in range(3):
        for _ in range(2):
            cursors.append((await feed.read(cursors[-1], MINE)).cursor)
        await decide(store, "others/1")
    assert len(set(cursors)) == len(cursors)
    assert len(set(map(len, cursors))) == 1
    assert len({(await feed.read(None, Filter())).cursor for _ in range(3)}) == 1


async def test_two_processes_read_each_others_cursors(store: ScopeStore, feed: Feed) -> None:
    other = Feed(store.log, SystemClock())
    try:
        cursor = (await feed.read(None, MINE)).cursor
        made = await decide(store, "mine/1")
        batch = await other.read(cursor, MINE)
        assert ([each.id for each in batch.decisions], batch.truncated) == ([made], False)
        with anyio.fail_after(30):
            assert not (await feed.read(batch.cursor, MINE)).truncated
    finally:
        await other.close()
