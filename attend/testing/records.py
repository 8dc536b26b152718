"""The conformance suite, about what is on record beside the log."""

from __future__ import annotations

from attend.store.base import Dropped, ScopeStore
from attend.store.records import Entry
from attend.testing.making import AT, committed, logged, row, write
from attend.testing.suite import Suite

suite = Suite()


async def rows(store: ScopeStore) -> list[bytes]:
    return [record.row for record in await store.records.read("", 99)]


@suite.case
async def rows_on_record_come_in_the_order_they_were_added(store: ScopeStore) -> None:
    assert await store.records.read("", 9) == []
    assert await store.records.add([Entry(b"a", AT), Entry(b"b", AT - 5)], 100) == 2
    assert await store.records.add([Entry(b"c\xff", AT)], 100) == 1
    first, *rest = await store.records.read("", 9)
    assert [record.row for record in (first, *rest)] == [b"a", b"b", b"c\xff"]
    assert await store.records.read(first.id, 9) == rest
    assert await store.records.read(first.id, 1) == rest[:1]
    assert await store.records.read(rest[-1].id, 9) == []


@suite.case
async def no_more_rows_are_kept_on_record_than_asked(store: ScopeStore) -> None:
    for n in range(5):
        await store.records.add([Entry(b"%d" % n, AT), Entry(b"and", AT)], 3)
    assert await rows(store) == [b"and", b"4", b"and"]
    last = (await store.records.read("", 9))[-1]
    await store.records.add([Entry(b"later", AT)], 3)
    assert [record.row for record in await store.records.read(last.id, 9)] == [b"later"]


@suite.case
async def a_named_row_comes_once_in_its_time(store: ScopeStore) -> None:
    for at, added in ((AT, 1), (AT + 9, 0), (AT + 10, 1), (AT + 11, 0), (AT + 20, 1)):
        assert await store.records.add([Entry(b"a", at, "pager", 10)], 100) == added
    assert await store.records.add([Entry(b"b", AT, "other", 10), Entry(b"b", AT, "other", 10)], 100) == 1
    assert await rows(store) == [b"a", b"a", b"a", b"b"]


@suite.case
async def a_decision_is_taken_by_each_principal_once(store: ScopeStore) -> None:
    await logged(store, "a", "b")
    assert await store.records.acknowledged(["a", "b"]) == [False, False]
    assert await store.records.acknowledge("a", "pager", AT) == AT
    assert await store.records.acknowledge("a", "pager", AT + 5) == AT
    assert await store.records.acknowledge("a", "other", AT + 5) == AT + 5
    assert await store.records.acknowledged(["b", "a", "nowhere"]) == [False, True, False]
    assert await store.records.acknowledged([]) == []


@suite.case
async def a_decision_is_taken_only_while_its_row_is_kept(store: ScopeStore) -> None:
    assert await store.records.acknowledge("nowhere", "pager", AT) is None
    assert await store.records.acknowledged(["nowhere"]) == [False]
    await logged(store, "a")
    await logged(store, "held", held=True)
    for id in ("a", "held"):
        assert await store.records.acknowledge(id, "pager", AT) == AT
    assert await store.log.trim(0, 0) == 2
    for id in ("a", "held"):
        assert await store.records.acknowledge(id, "other", AT) is None
    assert await store.records.acknowledged(["a"]) == [False]


@suite.case
async def taking_a_decision_leaves_its_window_as_it_was(store: ScopeStore) -> None:
    version = await committed(store, rows=(row("a", held=True),))
    before = await store.window("a")
    await store.records.acknowledge("a", "pager", AT)
    assert await store.window("a") == before
    await store.commit([write(expected=version, drop=(Dropped("a", done=True),))])
    assert await store.records.acknowledged(["a"]) == [True]


@suite.case
async def the_secret_of_a_log_stays_what_it_is(store: ScopeStore) -> None:
    secret = await store.log.secret()
    assert len(secret) >= 32
    await logged(store, "a")
    assert await store.log.secret() == secret


@suite.case
async def the_position_before_an_instant_has_what_was_logged_since_after_it(store: ScopeStore) -> None:
    assert await store.log.before(AT) == await store.log.start()
    await logged(store, "a", "b")
    a, b = (await store.log.read(await store.log.start(), 9)).rows
    for position in (await store.log.before(0), await store.log.before(int(a.position.id.partition("-")[0]))):
        assert (await store.log.read(position, 9)).rows == (a, b)
    after = int(b.position.id.partition("-")[0]) + 1
    assert await store.log.before(after) == b.position
