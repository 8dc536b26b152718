"""The conformance suite, about which scopes have dead letters."""

from __future__ import annotations

from attend.store.base import ScopeStore
from attend.testing.making import AT, committed
from attend.testing.suite import Suite

suite = Suite()


@suite.case
async def scopes_with_dead_letters_are_listed_longest_dead_first(store: ScopeStore) -> None:
    assert await store.dead(10) == []
    await committed(store, "late", dead=AT + 2)
    await committed(store, "early", dead=AT)
    await committed(store, "none")
    await committed(store, "é", dead=AT + 1)
    await committed(store, "e", dead=AT + 1)
    assert await store.dead(10) == ["early", "e", "é", "late"]


@suite.case
async def a_page_of_them_goes_on_after_those_skipped(store: ScopeStore) -> None:
    for n in range(5):
        await committed(store, f"s{n}", dead=AT + n)
    assert await store.dead(2) == ["s0", "s1"]
    assert await store.dead(2, 2) == ["s2", "s3"]
    assert await store.dead(2, 4) == ["s4"]
    assert await store.dead(2, 5) == []
    assert await store.dead(0) == []


@suite.case
async def a_write_that_says_nothing_of_dead_letters_leaves_them_listed(store: ScopeStore) -> None:
    one = await committed(store, dead=AT)
    two = await committed(store, expected=one, snapshot=b"snap")
    assert await store.dead(10) == ["a"]
    three = await committed(store, expected=two, dead=AT + 5)
    assert await store.dead(10) == ["a"]
    await committed(store, expected=three, dead=0)
    assert await store.dead(10) == []


@suite.case
async def a_scope_that_is_removed_is_listed_no_more(store: ScopeStore) -> None:
    version = await committed(store, dead=AT)
    assert not await store.remove("a", "1-other")
    assert await store.dead(10) == ["a"]
    assert await store.remove("a", version)
    assert await store.dead(10) == []
