"""The conformance suite, about the decision log and its rows."""

from __future__ import annotations

import asyncio

from attend.store.base import Kept, LogRow, Outcome, Page, Position, ScopeStore
from attend.testing.making import AT, committed, logged, row, write
from attend.testing.suite import Suite

suite = Suite()


def summaries(page: Page) -> list[str]:
    return [row.summary.decode().removeprefix("summary of ") for row in page.rows]


def numbers(page: Page) -> list[int]:
    return [row.position.n for row in page.rows]


@suite.case
async def an_empty_log_begins_where_it_ends(store: ScopeStore) -> None:
    start, end = await store.log.start(), await store.log.end()
    assert start == end
    assert await store.log.read(end, 9) == Page((), end, False, False)


@suite.case
async def rows_come_in_the_order_of_commits_with_a_dense_counter(store: ScopeStore) -> None:
    start = await store.log.start()
    await logged(store, "a", "b")
    await committed(store, "other")
    await logged(store, "c")
    page = await store.log.read(start, 9)
    assert (summaries(page), numbers(page), page.truncated, page.more) == (
        ["a", "b", "c"],
        [1, 2, 3],
        False,
        False,
    )
    assert page.position == page.rows[-1].position == await store.log.end()


@suite.case
async def a_position_that_nothing_came_after_reads_empty(store: ScopeStore) -> None:
    await logged(store, "a")
    end = await store.log.end()
    assert await store.log.read(end, 9) == Page((), end, False, False)
    await logged(store, "b")
    assert summaries(await store.log.read(end, 9)) == ["b"]


@suite.case
async def a_limit_cuts_and_the_next_read_goes_on(store: ScopeStore) -> None:
    position = await store.log.start()
    ids = [f"d{n}" for n in range(10)]
    await logged(store, *ids)
    found: list[str] = []
    for expected in (4, 4, 2):
        page = await store.log.read(position, 4)
        assert (len(page.rows), page.truncated) == (expected, False)
        found += summaries(page)
        assert page.more is (len(found) < 10)
        position = page.position
    assert found == ids


@suite.case
async def rows_of_one_write_stay_in_order(store: ScopeStore) -> None:
    start = await store.log.start()
    await committed(store, rows=tuple(row(f"d{n}") for n in range(3)))
    assert summaries(await store.log.read(start, 9)) == ["d0", "d1", "d2"]


@suite.case
async def a_refused_write_logs_nothing(store: ScopeStore) -> None:
    start = await store.log.start()
    assert await store.commit([write(expected="4-x", rows=(row("a"),), keep=(Kept("b", b""),))]) == [
        Outcome.CONFLICT
    ]
    assert (await store.log.read(start, 9)).rows == ()
    assert await store.window("a") is None
    assert await store.window("b") is None


@suite.case
async def a_row_sent_again_is_logged_once(store: ScopeStore) -> None:
    start = await store.log.start()
    made = write(rows=(row("a"),))
    assert await store.commit([made, made]) == [Outcome.OK] * 2
    assert numbers(await store.log.read(start, 9)) == [1]


@suite.case
async def a_decision_logged_before_is_not_logged_again(store: ScopeStore) -> None:
    start = await store.log.start()
    await logged(store, "a", "b")
    await committed(store, "again", rows=(row("a"), row("c")))
    assert summaries(await store.log.read(start, 9)) == ["a", "b", "c"]


@suite.case
async def a_decision_is_found_by_its_id(store: ScopeStore) -> None:
    await logged(store, "a", "b")
    found = await store.log.find("b")
    assert found == await store.log.end()
    assert await store.log.find("c") is None


@suite.case
async def trimming_deletes_the_oldest_rows_past_a_count_with_their_windows(store: ScopeStore) -> None:
    await logged(store, *(f"d{n}" for n in range(250)))
    assert await store.log.trim(260, 0) == 0
    assert await store.log.trim(100, 0) == 150
    page = await store.log.read(await store.log.start(), 500)
    assert numbers(page) == list(range(151, 251))
    assert not page.truncated
    assert await store.window("d149") is None
    assert await store.log.find("d149") is None
    assert await store.window("d150") is not None
    await logged(store, "later")
    assert (await store.log.end()).n == 251


@suite.case
async def trimming_deletes_what_was_logged_before_an_instant(store: ScopeStore) -> None:
    await logged(store, "a", "b")
    first = (await store.log.read(await store.log.start(), 1)).rows[0].position
    logged_at = int(first.id.partition("-")[0])
    assert await store.log.trim(100, logged_at) == 0
    await asyncio.sleep(0.01)
    at = max(AT, await store.server_now()) + 1
    assert await store.log.trim(100, at) == 2
    assert await store.window("a") is None


@suite.case
async def trimming_stops_at_its_limit(store: ScopeStore) -> None:
    await logged(store, *(f"d{n}" for n in range(250)))
    assert await store.log.trim(0, 0, 120) == 120
    assert await store.log.trim(0, 0) == 130
    assert await store.log.trim(0, 0) == 0


@suite.case
async def trimming_at_once_from_many_places_deletes_each_row_once(store: ScopeStore) -> None:
    await logged(store, *(f"d{n}" for n in range(250)))
    await asyncio.gather(*(store.log.trim(50, 0) for _ in range(8)))
    assert numbers(await store.log.read(await store.log.start(), 99)) == list(range(201, 251))


@suite.case
async def a_reader_whose_row_was_trimmed_goes_on_where_nothing_is_missing(store: ScopeStore) -> None:
    await logged(store, "a", "b", "c")
    one, two, three = (row.position for row in (await store.log.read(await store.log.start(), 9)).rows)
    await store.log.trim(1, 0)
    page = await store.log.read(two, 9)
    assert (summaries(page), page.truncated) == (["c"], False)
    page = await store.log.read(one, 9)
    assert (summaries(page), page.truncated) == (["c"], True)
    await store.log.trim(0, 0)
    assert await store.log.read(three, 9) == Page((), three, False, False)
    page = await store.log.read(two, 9)
    assert (page.rows, page.truncated) == ((), True)
    await logged(store, "d")
    for position in (three, page.position):
        assert summaries(await store.log.read(position, 9)) == ["d"]
        assert not (await store.log.read(position, 9)).truncated


@suite.case
async def a_position_before_the_first_row_is_truncated_once_that_is_gone(store: ScopeStore) -> None:
    start = await store.log.start()
    await logged(store, "a", "b")
    assert not (await store.log.read(start, 9)).truncated
    await store.log.trim(1, 0)
    page = await store.log.read(start, 9)
    assert (summaries(page), page.truncated) == (["b"], True)
    assert not (await store.log.read(page.position, 9)).truncated
    assert not (await store.log.read(await store.log.start(), 9)).truncated


@suite.case_for(False, True)
async def a_position_that_never_was_is_truncated_once(store: ScopeStore, empty: bool) -> None:
    await logged(store, "a", "b")
    end = await store.log.end()
    if empty:
        await store.log.trim(0, 0)
    garbage = [
        Position("elsewhere", end.n, end.id),
        Position("", end.n, end.id),
        Position(end.epoch, end.n + 1, end.id),
        Position(end.epoch, end.n + 1, "99999999999999-0"),
        Position(end.epoch, -1, end.id),
    ]
    if not empty:
        garbage += [
            Position(end.epoch, end.n - 1, end.id),
            Position(end.epoch, end.n, "0-1"),
            Position(end.epoch, end.n, "99999999999999-0"),
            Position(end.epoch, end.n, "rubbish"),
            Position(end.epoch, end.n, "(" + end.id),
            Position(end.epoch, end.n, ""),
            Position(end.epoch, end.n, "99999999999999999999999999-0"),
        ]
    for position in garbage:
        page = await store.log.read(position, 1)
        assert page.truncated, position
        assert summaries(page) == ([] if empty else ["a"])
        rest = await store.log.read(page.position, 9)
        assert not rest.truncated
        assert summaries(rest) == ([] if empty else ["b"])


@suite.case
async def many_writers_make_one_dense_log(store: ScopeStore) -> None:
    async def add(n: int) -> None:
        for k in range(5):
            await logged(store, f"d{n}-{k}")

    reading = await store.log.start()
    seen: list[LogRow] = []
    writers = asyncio.gather(*(add(n) for n in range(20)))
    while not (writers.done() and len(seen) == 100):
        page = await store.log.read(reading, 7)
        assert not page.truncated
        seen += page.rows
        reading = page.position
        await asyncio.sleep(0)
    await writers
    assert [row.position.n for row in seen] == list(range(1, 101))


@suite.case
async def waiting_ends_with_a_row(store: ScopeStore) -> None:
    end = await store.log.end()
    assert not await store.log.wait(end, 30)
    waiting = asyncio.create_task(store.log.wait(end, 30_000))
    await asyncio.sleep(0.05)
    await logged(store, "a")
    assert await asyncio.wait_for(waiting, 20)
    assert await store.log.wait(end, 30_000)
    assert not await store.log.wait(await store.log.end(), 30)


@suite.case
async def waiting_at_a_position_that_does_not_fit_ends_at_once(store: ScopeStore) -> None:
    end = await store.log.end()
    assert await store.log.wait(Position("elsewhere", end.n, end.id), 30_000)
    assert await store.log.wait(Position(end.epoch, 7, "99999999999999-0"), 30_000)
    assert await store.log.wait(Position("", 0, "rubbish"), 30_000)
