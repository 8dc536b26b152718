"""Applying inputs: joined, grouped, replayed, and each failing alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from attend.core.input import Judged, Pushed, Ticked
from attend.core.rules import Rules
from attend.core.step import Taken
from attend.core.types import Judgment, Kind, Lane
from attend.engine import Claim
from attend.errors import ConflictError, StoreUnavailableError
from attend.store.base import Outcome, ScopeStore, Write
from attend.store.memory import MemoryStore
from attend.trace import CommitConflicted, Trace
from tests.engine.world import engine_on, event, pushed

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]


class CountingStore(MemoryStore):
    """Notes every commit; `refuses` says for how many it answers that another was first."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[Sequence[Write]] = []
        self.refuses = 0

    async def commit(self, writes: Sequence[Write]) -> list[Outcome]:
        await asyncio.sleep(0.001)
        self.groups.append(writes)
        if self.refuses > 0:
            self.refuses -= 1
            return [Outcome.CONFLICT for _ in writes]
        return await super().commit(writes)


async def test_pushes_to_one_scope_join_and_each_has_its_own_reply(new_store: NewStore) -> None:
    async with engine_on(new_store()) as engine:
        applied = await asyncio.gather(
            *(engine.apply("s", [pushed(f"a{n}", "shared")]) for n in range(50)),
        )
        replies = [each.replies[0] for each in applied]
        assert [reply.accepted for reply in replies if isinstance(reply, Taken)] == [2, *[1] * 49]
        assert len({each.version for each in applied}) < 10
        state = await engine.state("s")
        assert state is not None
        assert [each.id for each in state.open.events] == ["a0", "shared", *(f"a{n}" for n in range(1, 50))]


async def test_a_push_goes_out_at_once_and_a_hundred_scopes_go_together() -> None:
    store = CountingStore()
    async with engine_on(store) as engine:
        await engine.apply("s", [pushed("a")])
        results = await engine.apply_many({f"s{n}": [pushed("a")] for n in range(100)})
        assert [len(group) for group in store.groups] == [1, 100]
        assert not [each for each in results.values() if isinstance(each, Exception)]


async def test_a_push_of_duplicates_commits_nothing() -> None:
    store = CountingStore()
    async with engine_on(store) as engine:
        first = await engine.apply("s", [pushed("a", "b")])
        again = await engine.apply("s", [pushed("b", "a")])
    assert len(store.groups) == 1
    assert again.replies == (Taken(0, (0, 1)),)
    assert (again.version, again.committed) == (first.version, False)


async def test_a_group_holds_a_mebibyte_at_most() -> None:
    store = CountingStore()
    async with engine_on(store) as engine:
        big = {f"s{n}": [Pushed((event("a", text="x" * 400_000),))] for n in range(5)}
        assert not [each for each in (await engine.apply_many(big)).values() if isinstance(each, Exception)]
    assert [len(group) for group in store.groups] == [2, 2, 1]


async def test_an_input_that_cannot_be_stepped_fails_alone() -> None:
    async with engine_on(MemoryStore()) as engine:
        await engine.apply("s", [pushed("u", kind=Kind.FLUSH)])
        now = engine.clock.now()
        claim = Claim(Lane.SETTLE, now, now + 60_000)
        [call] = (await engine.apply("s", [Ticked(Lane.SETTLE)], claim=claim)).effects
        broken = Judged(call.window.id, call.token, Judgment(7))  # type: ignore[arg-type, union-attr]
        outcomes = await asyncio.gather(
            engine.apply("s", [pushed("b")]),
            engine.apply("s", [pushed("c"), broken]),
            engine.apply("s", [pushed("d")]),
            engine.apply("t", [pushed("e")]),
            return_exceptions=True,
        )
        assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, True, False, False]
        state = await engine.state("s")
        assert state is not None
        assert [each.id for each in state.open.events] == ["b", "d"]


async def test_two_engines_lose_nothing_to_each_other(new_store: NewStore) -> None:
    async with engine_on(new_store()) as one, engine_on(new_store()) as other:
        await asyncio.gather(
            *(one.apply("s", [pushed(f"a{n}")]) for n in range(40)),
            *(other.apply("s", [pushed(f"b{n}")]) for n in range(40)),
        )
        for n in range(20):
            await asyncio.gather(one.apply("s", [pushed(f"c{n}")]), other.apply("s", [pushed(f"d{n}")]))
        state = await one.state("s")
        assert state is not None
        assert len(state.open.events) == 120
        assert state == await other.state("s")


async def test_eight_conflicts_in_a_row_are_too_many() -> None:
    store = CountingStore()
    traces: list[Trace] = []
    async with engine_on(store, traces=traces) as engine:
        store.refuses = 7
        await engine.apply("s", [pushed("a")])
        store.refuses = 8
        with pytest.raises(ConflictError):
            await engine.apply("s", [pushed("b")])
        assert len([trace for trace in traces if isinstance(trace, CommitConflicted)]) == 15
        await engine.apply("s", [pushed("c")])
        state = await engine.state("s")
        assert state is not None
        assert [each.id for each in state.open.events] == ["a", "c"]


async def test_a_claimed_run_retries_until_its_claim_ends() -> None:
    store = CountingStore()
    async with engine_on(store) as engine:
        await engine.apply("s", [pushed("a", kind=Kind.FLUSH)])
        now = engine.clock.now()
        store.refuses = 12
        claim = Claim(Lane.SETTLE, now, now + 60_000)
        assert (await engine.apply("s", [Ticked(Lane.SETTLE)], claim=claim)).effects
        store.refuses = 1000
        claim = Claim(Lane.SETTLE, now, engine.clock.now() + 100)
        with pytest.raises(ConflictError):
            await engine.apply("s", [Ticked(Lane.SETTLE), pushed("b")], claim=claim)


async def test_a_replay_gives_the_very_state(new_store: NewStore) -> None:
    async with engine_on(new_store()) as engine:
        for n in range(60):
            await engine.apply("s", [pushed(f"a{n}", kind=Kind.CLOSING if n % 7 else Kind.CONSEQUENCE)])
        live = (await engine.apply("s", [pushed("last")])).state
        async with engine_on(new_store()) as other:
            assert await other.state("s") == live
            assert await other.state("nobody") is None


async def test_a_tail_becomes_a_snapshot_once_it_outgrows_it(new_store: NewStore) -> None:
    store = new_store()
    async with engine_on(store, Rules(max_events=5, seen_count=10)) as engine:
        for n in range(200):
            await engine.apply("s", [pushed(f"a{n}")])
        [loaded] = await store.load([("s", "")])
        assert loaded.snapshot
        assert sum(map(len, loaded.tail)) <= max(len(loaded.snapshot), 1024)


async def test_a_closed_engine_takes_nothing() -> None:
    async with engine_on(MemoryStore()) as engine:
        pass
    with pytest.raises(StoreUnavailableError):
        await engine.apply("s", [pushed("a")])
