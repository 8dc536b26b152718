"""The conformance suite, about commits and loads."""

from __future__ import annotations

import asyncio

from attend.core.types import Lane
from attend.store.base import Loaded, Outcome, ScopeStore
from attend.testing.making import AT, committed, write
from attend.testing.suite import Suite

suite = Suite()


async def stored(store: ScopeStore, scope: str = "a", have: str = "") -> Loaded:
    return (await store.load([(scope, have)]))[0]


@suite.case
async def a_scope_that_is_not_stored_has_no_version(store: ScopeStore) -> None:
    assert await stored(store) == Loaded(Outcome.OK)
    assert await stored(store, have="3-x") == Loaded(Outcome.OK)


@suite.case
async def entries_follow_the_snapshot_in_order(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"snap")
    two = await committed(store, expected=one, entry=b"first")
    three = await committed(store, expected=two, entry=b"second")
    assert await stored(store) == Loaded(Outcome.OK, three, b"snap", (b"first", b"second"))


@suite.case
async def a_snapshot_replaces_snapshot_and_tail(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"old")
    two = await committed(store, expected=one, entry=b"gone")
    three = await committed(store, expected=two, snapshot=b"new")
    assert await stored(store) == Loaded(Outcome.OK, three, b"new")


@suite.case
async def a_tail_can_begin_at_the_empty_scope(store: ScopeStore) -> None:
    one = await committed(store, entry=b"first")
    assert await stored(store) == Loaded(Outcome.OK, one, None, (b"first",))
    assert await stored(store, have="7-other") == Loaded(Outcome.OK, one, b"", (b"first",))


@suite.case
async def a_load_gives_what_is_newer_than_the_callers_version(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"snap")
    two = await committed(store, expected=one, entry=b"first")
    three = await committed(store, expected=two, entry=b"second")
    assert await stored(store, have=one) == Loaded(Outcome.OK, three, None, (b"first", b"second"))
    assert await stored(store, have=two) == Loaded(Outcome.OK, three, None, (b"second",))
    assert await stored(store, have=three) == Loaded(Outcome.OK, three)


@suite.case_for("1-stranger", "2-stranger", "3-stranger", "9-stranger", "0-stranger", "?")
async def a_version_of_another_history_gets_the_whole_scope(store: ScopeStore, have: str) -> None:
    one = await committed(store, snapshot=b"snap")
    two = await committed(store, expected=one, entry=b"first")
    assert await stored(store, have=have) == Loaded(Outcome.OK, two, b"snap", (b"first",))


@suite.case
async def payloads_and_names_are_opaque(store: ScopeStore) -> None:
    payload = bytes(range(256)) + b"1-x \r\n\x00"
    scope = "{ä} ключ\n %s:t:"
    one = await committed(store, scope, snapshot=payload)
    two = await committed(store, scope, one, entry=payload)
    assert await stored(store, scope) == Loaded(Outcome.OK, two, payload, (payload,))


@suite.case
async def several_scopes_load_in_order(store: ScopeStore) -> None:
    versions = [await committed(store, f"s{n}", entry=b"%d" % n) for n in range(5)]
    loaded = await store.load([(f"s{n}", "") for n in (4, 0, 9, 2)])
    assert [one.version for one in loaded] == [versions[4], versions[0], "", versions[2]]
    assert await store.load([]) == []


@suite.case
async def of_fifty_writers_at_one_version_exactly_one_is_ok(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"snap")
    writes = [write(expected=one, entry=b"%d" % n) for n in range(50)]
    outcomes = [outcome for (outcome,) in await asyncio.gather(*(store.commit([made]) for made in writes))]
    assert sorted(outcomes) == [Outcome.CONFLICT] * 49 + [Outcome.OK]
    won = writes[outcomes.index(Outcome.OK)]
    assert await stored(store) == Loaded(Outcome.OK, won.version, b"snap", (won.entry or b"",))


@suite.case
async def fifty_writers_that_try_again_all_get_in(store: ScopeStore) -> None:
    async def add(n: int) -> None:
        while True:
            have = (await stored(store)).version
            if await store.commit([write(expected=have, entry=b"%d" % n)]) == [Outcome.OK]:
                return

    await asyncio.gather(*(add(n) for n in range(50)))
    found = await stored(store)
    assert found.version.startswith("50-")
    assert sorted(map(int, found.tail)) == list(range(50))


@suite.case
async def a_write_sent_again_is_ok_and_applied_once(store: ScopeStore) -> None:
    made = write(entry=b"once", due={Lane.SETTLE: AT + 5})
    assert await store.commit([made]) == [Outcome.OK]
    assert await store.commit([made]) == [Outcome.OK]
    assert await stored(store) == Loaded(Outcome.OK, made.version, None, (b"once",))


@suite.case
async def a_write_sent_again_after_others_is_ok_and_changes_nothing(store: ScopeStore) -> None:
    one = write(snapshot=b"snap", due={Lane.SETTLE: AT})
    two = write(expected=one.version, entry=b"first", due={Lane.SETTLE: AT + 1})
    three = write(expected=two.version, entry=b"second", due={Lane.SETTLE: AT + 2})
    four = write(expected=three.version, snapshot=b"later", due={Lane.SETTLE: None})
    for made in (one, two, three):
        assert await store.commit([made]) == [Outcome.OK]
    for made in (one, two, three):
        assert await store.commit([made]) == [Outcome.OK]
    assert await stored(store) == Loaded(Outcome.OK, three.version, b"snap", (b"first", b"second"))
    assert await store.commit([four]) == [Outcome.OK]
    assert await store.commit([three]) == [Outcome.OK]
    assert await stored(store) == Loaded(Outcome.OK, four.version, b"later")
    assert await store.claim(Lane.SETTLE, AT + 9, 9, AT + 99) == await store.claim(Lane.BURY, AT, 9, AT)


@suite.case
async def a_write_from_another_version_is_a_conflict(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"snap")
    two = await committed(store, expected=one, entry=b"first")
    for expected in ("", one, "2-stranger", "9-stranger"):
        made = write(expected=expected, entry=b"no", due={Lane.SETTLE: AT})
        assert await store.commit([made]) == [Outcome.CONFLICT]
    assert await stored(store) == Loaded(Outcome.OK, two, b"snap", (b"first",))
    assert (await store.claim(Lane.SETTLE, AT, 9, AT)).scopes == ()


@suite.case
async def a_scope_that_is_not_lost_cannot_be_restarted(store: ScopeStore) -> None:
    assert await store.commit([write(snapshot=b"new", restart=True)]) == [Outcome.CONFLICT]
    one = await committed(store, snapshot=b"snap")
    made = write(expected=one, snapshot=b"new", restart=True)
    assert await store.commit([made]) == [Outcome.CONFLICT]
    assert await stored(store) == Loaded(Outcome.OK, one, b"snap")


@suite.case
async def one_scopes_refusal_does_not_touch_the_others(store: ScopeStore) -> None:
    await committed(store, "b", snapshot=b"snap")
    outcomes = await store.commit([write("a"), write("b", entry=b"no"), write("c")])
    assert outcomes == [Outcome.OK, Outcome.CONFLICT, Outcome.OK]
    assert [one.tail for one in await store.load([("a", ""), ("b", "z"), ("c", "")])] == [
        (b"entry",),
        (),
        (b"entry",),
    ]


@suite.case
async def a_large_group_commits_whole(store: ScopeStore) -> None:
    writes = [write(f"s{n}", snapshot=b"x" * 10_000) for n in range(600)]
    assert await store.commit(writes) == [Outcome.OK] * 600
    loaded = await store.load([(made.scope, "") for made in writes])
    assert [one.version for one in loaded] == [made.version for made in writes]
    assert await store.commit([write("big", snapshot=b"x" * 3_000_000)]) == [Outcome.OK]
    assert len((await stored(store, "big", "?")).snapshot or b"") == 3_000_000
    assert await store.commit([]) == []


@suite.case
async def idle_scopes_are_those_of_long_ago_oldest_first(store: ScopeStore) -> None:
    await committed(store, "b", at=AT + 20)
    await committed(store, "a", at=AT + 10)
    version = await committed(store, "c", at=AT + 5)
    await committed(store, "c", version, at=AT + 30)
    assert await store.idle(AT + 30, 9) == ["a", "b"]
    assert await store.idle(AT + 30, 1) == ["a"]
    assert await store.idle(AT + 10, 9) == []


@suite.case
async def a_scope_that_is_removed_is_as_if_never_stored(store: ScopeStore) -> None:
    version = await committed(store, snapshot=b"snap", due=dict.fromkeys(Lane, AT))
    await committed(store, expected=version, entry=b"first")
    assert await store.remove("a")
    assert await stored(store, have=version) == Loaded(Outcome.OK)
    assert await store.idle(AT + 1, 9) == []
    for lane in Lane:
        assert (await store.claim(lane, AT, 9, AT)).scopes == ()
    await committed(store, entry=b"again")


@suite.case
async def a_scope_written_meanwhile_is_not_removed(store: ScopeStore) -> None:
    one = await committed(store, snapshot=b"snap")
    two = await committed(store, expected=one, entry=b"first")
    assert not await store.remove("a", one)
    assert (await stored(store)).version == two
    assert await store.remove("a", two)
    assert (await stored(store)).version == ""


@suite.case
async def rules_keep_their_generation_while_they_are_the_newest(store: ScopeStore) -> None:
    assert await store.register("one", b"1") == 1
    assert await store.register("one", b"1") == 1
    assert await store.register("two", b"2") == 2
    assert await store.register("two", b"2") == 2
    assert await store.register("one", b"1") == 3
    assert (await store.rules("one"), await store.rules("two")) == (b"1", b"2")
    assert await store.rules("three") is None


@suite.case
async def processes_with_the_same_rules_have_one_generation(store: ScopeStore) -> None:
    assert set(await asyncio.gather(*(store.register("one", b"1") for _ in range(20)))) == {1}


@suite.case
async def the_stores_clock_goes_on(store: ScopeStore) -> None:
    first = await store.server_now()
    assert 1_600_000_000_000 < first <= await store.server_now()
