"""The conformance suite, about the attention feed that commits write."""

from __future__ import annotations

from msgspec.structs import replace

from attend.store.base import Outcome, ScopeStore
from attend.store.news_log import MAX_OPEN, NewsRow
from attend.testing.making import AT, write
from attend.testing.suite import Suite

suite = Suite()


async def told(store: ScopeStore, *news: NewsRow, scope: str = "a", at: int = AT) -> None:
    """Commit a scope's first write with news in it."""
    assert await store.commit([replace(write(scope), at=at, news=news)]) == [Outcome.OK]


async def rows(store: ScopeStore) -> list[bytes]:
    page = await store.news.read(await store.news.start(), 10_000)
    return [row.summary for row in page.rows]


@suite.case
async def news_is_written_with_its_commit_and_once(store: ScopeStore) -> None:
    assert await rows(store) == []
    first = replace(write("a"), news=(NewsRow(b"one\xff"), NewsRow(b"two")))
    assert await store.commit([first, replace(write("b"), news=(NewsRow(b"three"),))]) == [Outcome.OK] * 2
    assert await store.commit([first]) == [Outcome.OK]
    assert await store.commit([replace(first, version="1-other")]) == [Outcome.CONFLICT]
    assert await rows(store) == [b"one\xff", b"two", b"three"]
    page = await store.news.read(await store.news.start(), 2)
    assert [row.position.n for row in page.rows] == [1, 2]
    assert page.more
    assert (await store.news.read(page.position, 9)).rows[0].summary == b"three"


@suite.case
async def a_condition_opens_once_until_it_is_resolved(store: ScopeStore) -> None:
    await told(store, NewsRow(b"down", "c", "opens"), NewsRow(b"down again", "c", "opens"))
    assert await store.news.conditions() == [b"down"]
    await told(store, NewsRow(b"still", "c", "opens"), NewsRow(b"never was", "d", "resolves"), scope="b")
    assert await rows(store) == [b"down"]
    await told(store, NewsRow(b"up", "c", "resolves"), NewsRow(b"up again", "c", "resolves"), scope="c")
    assert await store.news.conditions() == []
    await told(store, NewsRow(b"down anew", "c", "opens"), scope="d")
    assert await rows(store) == [b"down", b"up", b"down anew"]


@suite.case
async def open_conditions_come_longest_open_first(store: ScopeStore) -> None:
    await told(store, NewsRow(b"later", "l", "opens"), scope="a", at=AT + 1)
    await told(store, NewsRow(b"earlier", "e", "opens"), scope="b", at=AT)
    assert await store.news.conditions() == [b"earlier", b"later"]


@suite.case
async def a_condition_too_many_is_news_and_not_kept(store: ScopeStore) -> None:
    await told(store, *(NewsRow(b"%d" % n, f"c{n}", "opens") for n in range(MAX_OPEN)), scope="a")
    await told(store, NewsRow(b"one more", "more", "opens"), scope="b")
    assert len(await store.news.conditions()) == MAX_OPEN
    assert (await rows_after(store, MAX_OPEN)) == [b"one more"]


async def rows_after(store: ScopeStore, n: int) -> list[bytes]:
    page = await store.news.read(await store.news.start(), n + 10)
    return [row.summary for row in page.rows[n:]]


@suite.case
async def old_news_and_old_conditions_are_let_go_of(store: ScopeStore) -> None:
    await told(store, NewsRow(b"old", "o", "opens"), scope="a", at=AT)
    await told(store, NewsRow(b"new", "n", "opens"), NewsRow(b"last"), scope="b", at=AT + 10)
    start = await store.news.start()
    assert await store.news.trim(2, 0) == 1
    assert await rows(store) == [b"new", b"last"]
    assert (await store.news.read(start, 9)).truncated
    assert await store.news.expire(AT + 10) == 1
    assert await store.news.conditions() == [b"new"]


@suite.case
async def waiting_for_news_ends_when_there_is_some(store: ScopeStore) -> None:
    end = await store.news.end()
    assert not await store.news.wait(end, 10)
    await told(store, NewsRow(b"some"))
    assert await store.news.wait(end, 10)
    assert (await store.news.read(end, 9)).rows[0].summary == b"some"


@suite.case
async def news_and_decisions_have_positions_of_their_own(store: ScopeStore) -> None:
    await told(store, NewsRow(b"some"))
    assert (await store.log.end()).n == 0
    assert (await store.news.read(await store.log.end(), 9)).truncated
