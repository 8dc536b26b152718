"""The conformance suite, about webhook subscriptions."""

from __future__ import annotations

from typing import Any

from attend.store.base import ScopeStore
from attend.store.subscriptions import Change, Outcome, Subscriptions
from attend.testing.making import AT
from attend.testing.suite import Suite

suite = Suite()


def change(id: str = "a", expected: str = "", version: str = "v1", **more: Any) -> Change:
    """A change of one subscription."""
    given: dict[str, Any] = {"owner": "ann", "record": b"1 \xff", "at": AT, "due_at": AT, **more}
    return Change(id=id, expected=expected, version=version, **given)


async def put(kept: Subscriptions, change: Change) -> Outcome:
    """Apply it within bounds of two and three."""
    return await kept.put(change, 2, 3)


@suite.case
async def a_change_applies_to_the_version_it_was_made_from_alone(store: ScopeStore) -> None:
    kept = store.subscriptions
    assert await kept.get("a") is None
    assert await put(kept, change(expected="v0")) is Outcome.CONFLICT
    assert await put(kept, change()) is Outcome.OK
    assert await put(kept, change()) is Outcome.OK  # sent again
    assert await put(kept, change(version="v2")) is Outcome.CONFLICT
    assert await put(kept, change(expected="v1", version="v2", record=b"2")) is Outcome.OK
    found = await kept.get("a")
    assert found is not None
    assert (found.version, found.record) == ("v2", b"2")
    assert not await kept.drop("a", "v1", "ann")
    assert await kept.drop("a", "v2", "ann")
    assert await kept.get("a") is None
    assert not await kept.drop("a", "v2", "ann")


@suite.case
async def there_are_no_more_than_there_may_be(store: ScopeStore) -> None:
    kept = store.subscriptions
    assert [await put(kept, change(id)) for id in ("a", "b", "c")] == [Outcome.OK, Outcome.OK, Outcome.EACH]
    assert await put(kept, change("c", owner="bob")) is Outcome.OK
    assert await put(kept, change("d", owner="bob")) is Outcome.TOTAL
    assert await put(kept, change("a", "v1", "v2")) is Outcome.OK
    assert await kept.drop("a", "v2", "ann")
    assert await put(kept, change("d")) is Outcome.OK


@suite.case
async def no_claim_is_given_twice(store: ScopeStore) -> None:
    kept = store.subscriptions
    await put(kept, change("a", due_at=AT))
    await put(kept, change("b", due_at=AT + 5))
    first = await kept.claim(AT, 9, AT + 100)
    assert (first.ids, first.next_at) == (("a",), AT + 5)
    assert (await kept.claim(AT + 5, 9, AT + 100)).ids == ("b",)
    assert (await kept.claim(AT + 99, 9, AT + 200)).ids == ()
    assert set((await kept.claim(AT + 100, 9, AT + 200)).ids) == {"a", "b"}
    assert await put(kept, change("a", "v1", "v2", due=False)) is Outcome.OK  # leaves the claim alone
    assert await put(kept, change("b", "v1", "v2", due_at=None)) is Outcome.OK
    assert (await kept.claim(AT + 999, 9, AT + 2000)).ids == ("a",)


@suite.case
async def news_makes_the_idle_due_and_the_others_once_they_would_be_idle(store: ScopeStore) -> None:
    kept = store.subscriptions
    await put(kept, change("a", due_at=AT + 500, idle=True))
    await put(kept, change("b", due_at=AT + 500))
    await kept.rouse(["a", "b", "nowhere"], AT + 1)
    claimed = await kept.claim(AT + 1, 9, AT + 100)
    assert (claimed.ids, claimed.next_at) == (("a",), AT + 100)
    await kept.rouse(["a"], AT + 2)
    await put(kept, change("a", "v1", "v2", due_at=AT + 500, idle=True, at=AT + 3))
    assert (await kept.claim(AT + 2, 9, AT + 100)).ids == ()
    assert (await kept.claim(AT + 3, 9, AT + 100)).ids == ("a",)
    await put(kept, change("a", "v2", "v3", due_at=AT + 500, idle=True, at=AT + 4))
    assert (await kept.claim(AT + 499, 9, AT + 900)).ids == ()
    assert set((await kept.claim(AT + 500, 9, AT + 900)).ids) == {"a", "b"}


@suite.case
async def what_all_of_them_want_is_told_where_it_changed(store: ScopeStore) -> None:
    kept = store.subscriptions
    assert await kept.wants(0) is None
    await put(kept, change("a", wants=b"x"))
    found = await kept.wants(0)
    assert found is not None
    assert found.wants == {"a": b"x"}
    await put(kept, change("a", "v1", "v2"))
    assert await kept.wants(found.n) is None
    await kept.drop("a", "v2", "ann")
    found = await kept.wants(found.n)
    assert found is not None
    assert found.wants == {}


@suite.case
async def what_was_verified_counts_for_a_while(store: ScopeStore) -> None:
    kept = store.subscriptions
    assert not await kept.verified("x", AT)
    await kept.verify("x", AT, 60_000)
    assert await kept.verified("x", AT + 1)
    assert not await kept.verified("y", AT)
