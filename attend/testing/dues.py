"""The conformance suite, about due instants, claims and sleeping."""

from __future__ import annotations

import asyncio

from attend.core.types import Lane
from attend.store.base import Claimed, Outcome, ScopeStore
from attend.testing.making import AT, committed, write
from attend.testing.suite import Suite

suite = Suite()

SOON = 50
"""Milliseconds a sleep may take that nothing should end."""


async def token(store: ScopeStore, lane: Lane = Lane.SETTLE) -> bool:
    """Whether a token lies there; takes it."""
    return await store.sleep([lane], SOON) is lane


@suite.case
async def due_scopes_are_claimed_earliest_first_and_moved_on(store: ScopeStore) -> None:
    for scope, due_at in (("a", AT + 30), ("b", AT + 10), ("c", AT + 20), ("d", AT + 40)):
        await committed(store, scope, due={Lane.SETTLE: due_at})
    assert await store.claim(Lane.SETTLE, AT + 30, 9, AT + 2000) == Claimed(("b", "c", "a"), AT + 40)
    assert await store.claim(Lane.SETTLE, AT + 40, 9, AT + 2000) == Claimed(("d",), AT + 2000)
    assert (await store.claim(Lane.SETTLE, AT + 1999, 9, AT + 4000)).scopes == ()
    assert await store.claim(Lane.SETTLE, AT + 2000, 2, AT + 4000) == Claimed(("a", "b"), AT + 2000)


@suite.case
async def nothing_due_is_an_empty_claim(store: ScopeStore) -> None:
    assert await store.claim(Lane.DELIVER, AT, 9, AT + 2000) == Claimed((), None)
    await committed(store, due={Lane.DELIVER: AT + 1})
    assert await store.claim(Lane.DELIVER, AT, 9, AT + 2000) == Claimed((), AT + 1)
    assert await store.claim(Lane.DELIVER, AT + 1, 0, AT + 2000) == Claimed((), AT + 1)


@suite.case
async def a_write_touches_only_the_lanes_it_names(store: ScopeStore) -> None:
    one = await committed(store, due=dict.fromkeys(Lane, AT))
    await committed(store, expected=one, due={Lane.SETTLE: None, Lane.BURY: AT + 5})
    assert await store.claim(Lane.SETTLE, AT, 9, AT + 9) == Claimed((), None)
    assert await store.claim(Lane.DELIVER, AT, 9, AT + 9) == Claimed(("a",), AT + 9)
    assert await store.claim(Lane.BURY, AT, 9, AT + 9) == Claimed((), AT + 5)


@suite.case
async def a_commit_moves_a_claimed_scope_on(store: ScopeStore) -> None:
    one = await committed(store, due={Lane.SETTLE: AT})
    await store.claim(Lane.SETTLE, AT, 9, AT + 2000)
    two = await committed(store, expected=one, due={Lane.SETTLE: AT + 30_000})
    assert await store.claim(Lane.SETTLE, AT + 2000, 9, AT + 4000) == Claimed((), AT + 30_000)
    await committed(store, expected=two, due={Lane.SETTLE: None})
    assert await store.claim(Lane.SETTLE, AT + 99_000, 9, AT + 99_999) == Claimed((), None)


@suite.case
async def claims_of_many_callers_never_overlap(store: ScopeStore) -> None:
    writes = [write(f"s{n}", due={Lane.SETTLE: AT + n % 7}) for n in range(200)]
    assert await store.commit(writes) == [Outcome.OK] * 200

    async def claim_all() -> list[str]:
        mine: list[str] = []
        while found := (await store.claim(Lane.SETTLE, AT + 9, 3, AT + 5000)).scopes:
            mine += found
        return mine

    claimed = [scope for some in await asyncio.gather(*(claim_all() for _ in range(10))) for scope in some]
    assert sorted(claimed) == sorted(f"s{n}" for n in range(200))


@suite.case
async def a_claim_is_released_to_another_instant(store: ScopeStore) -> None:
    version = await committed(store, due={Lane.SETTLE: AT})
    await store.claim(Lane.SETTLE, AT, 1, AT + 2000)
    assert await store.release(Lane.SETTLE, "a", version, AT + 2000, AT + 700)
    assert await store.claim(Lane.SETTLE, AT + 700, 1, AT + 3000) == Claimed(("a",), AT + 3000)
    assert await store.release(Lane.SETTLE, "a", version, AT + 3000, None)
    assert await store.claim(Lane.SETTLE, AT + 9000, 1, AT + 9999) == Claimed((), None)


@suite.case
async def a_claim_is_not_released_once_the_scope_or_the_due_changed(store: ScopeStore) -> None:
    one = await committed(store, due={Lane.SETTLE: AT})
    await store.claim(Lane.SETTLE, AT, 1, AT + 2000)
    assert not await store.release(Lane.SETTLE, "a", one, AT + 1999, None)
    assert not await store.release(Lane.SETTLE, "a", "1-stranger", AT + 2000, None)
    assert not await store.release(Lane.DELIVER, "a", one, AT + 2000, None)
    await committed(store, expected=one)
    assert not await store.release(Lane.SETTLE, "a", one, AT + 2000, None)
    assert await store.claim(Lane.SETTLE, AT, 1, AT) == Claimed((), AT + 2000)


@suite.case
async def the_due_of_a_scope_never_stored_is_released_too(store: ScopeStore) -> None:
    assert not await store.release(Lane.SETTLE, "nobody", "", AT, None)


@suite.case_for(-1, 0, 99, 100, 500, None)
async def a_commit_wakes_where_a_due_has_come_or_is_the_new_head(
    store: ScopeStore, due_in: int | None
) -> None:
    due_at = None if due_in is None else AT + due_in
    wakes = due_in is not None and due_in < 100
    await committed(store, "head", due={Lane.SETTLE: AT + 100})
    assert await token(store)
    await committed(store, due={Lane.SETTLE: due_at})
    assert await token(store) is wakes
    assert not await token(store)


@suite.case
async def a_head_that_moves_later_wakes_nobody(store: ScopeStore) -> None:
    one = await committed(store, due={Lane.SETTLE: AT + 100})
    assert await token(store)
    await committed(store, expected=one, due={Lane.SETTLE: AT + 200})
    assert not await token(store)


@suite.case
async def a_release_to_an_earlier_instant_wakes(store: ScopeStore) -> None:
    version = await committed(store, due={Lane.BURY: AT})
    await store.claim(Lane.BURY, AT, 9, AT + 2000)
    assert await token(store, Lane.BURY)
    assert await store.release(Lane.BURY, "a", version, AT + 2000, AT + 500)
    assert await token(store, Lane.BURY)


@suite.case
async def a_refused_write_wakes_nobody(store: ScopeStore) -> None:
    assert await store.commit([write(expected="1-x", due={Lane.SETTLE: AT})]) == [Outcome.CONFLICT]
    assert not await token(store)


@suite.case
async def a_group_leaves_one_token_a_lane(store: ScopeStore) -> None:
    await store.commit([write(f"s{n}", due={Lane.SETTLE: AT, Lane.DELIVER: AT}) for n in range(5)])
    assert await token(store)
    assert await token(store, Lane.DELIVER)
    assert not await token(store)
    assert not await token(store, Lane.DELIVER)


@suite.case
async def a_claim_of_as_many_as_asked_leaves_a_token(store: ScopeStore) -> None:
    await store.commit([write(f"s{n}", due={Lane.SETTLE: AT}) for n in range(3)])
    assert await token(store)
    await store.claim(Lane.SETTLE, AT, 2, AT + 2000)
    assert await token(store)
    await store.claim(Lane.SETTLE, AT, 2, AT + 2000)
    assert not await token(store)


@suite.case
async def a_sleeper_is_woken(store: ScopeStore) -> None:
    sleeper = asyncio.create_task(store.sleep(list(Lane), 30_000))
    await asyncio.sleep(0.05)
    await committed(store, due={Lane.DELIVER: AT})
    assert await asyncio.wait_for(sleeper, 20) is Lane.DELIVER


@suite.case
async def a_token_wakes_one_sleeper(store: ScopeStore) -> None:
    sleepers = [asyncio.create_task(store.sleep([Lane.SETTLE], 1000)) for _ in range(5)]
    await asyncio.sleep(0.1)
    await store.pass_on(Lane.SETTLE)
    woken = await asyncio.gather(*sleepers)
    assert sorted(woken, key=str) == [None] * 4 + [Lane.SETTLE]


@suite.case
async def tokens_wake_a_sleeper_each(store: ScopeStore) -> None:
    sleepers = [asyncio.create_task(store.sleep([Lane.SETTLE], 20_000)) for _ in range(3)]
    await asyncio.sleep(0.1)
    for _ in sleepers:
        await store.pass_on(Lane.SETTLE)
    assert await asyncio.wait_for(asyncio.gather(*sleepers), 15) == [Lane.SETTLE] * 3


@suite.case
async def passing_on_leaves_one_token_at_most(store: ScopeStore) -> None:
    await store.pass_on(Lane.SETTLE)
    await store.pass_on(Lane.SETTLE)
    assert await token(store)
    assert not await token(store)


@suite.case
async def sleeping_with_nothing_to_do_ends_with_the_time(store: ScopeStore) -> None:
    assert await store.sleep(list(Lane), 30) is None
    assert await store.sleep(list(Lane), 0) is None


@suite.case
async def cancelling_a_sleeper_loses_no_token(store: ScopeStore) -> None:
    for pause in range(30):
        sleeper = asyncio.create_task(store.sleep([Lane.SETTLE], 5000))
        await asyncio.sleep(0.002 * (pause % 3))
        waking = asyncio.create_task(store.pass_on(Lane.SETTLE))
        await asyncio.sleep(0.0003 * (pause % 5))
        sleeper.cancel()
        await waking
        try:
            assert await sleeper is Lane.SETTLE
        except asyncio.CancelledError:
            assert await store.sleep([Lane.SETTLE], 10_000) is Lane.SETTLE
        assert not await store.sleep([Lane.SETTLE], 1)


@suite.case
async def closing_ends_a_sleep(store: ScopeStore) -> None:
    sleeper = asyncio.create_task(store.sleep([Lane.SETTLE], 2000))
    await asyncio.sleep(0.05)
    await store.close()
    assert await asyncio.wait_for(sleeper, 10) is None
