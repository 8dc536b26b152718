"""Rules have generations: a scope keeps the newest it has seen, whoever steps it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from attend import link
from attend.app import Attend
from attend.core.rules import Rules
from attend.core.types import Judgment, Kind
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.store.base import ScopeStore
from attend.store.redis import RedisStore
from tests.engine.world import engine_on, flush_server, logged, pushed, running
from tests.servers import Server

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

OLD = Rules(closing_grace_ms=1000)
NEW = Rules(closing_grace_ms=9000)


async def test_a_newer_process_brings_its_rules_and_an_older_one_steps_with_them(new_store: NewStore) -> None:
    async with engine_on(new_store(), OLD) as old:
        first = await old.apply("s", [pushed("a", kind=Kind.CLOSING)])
        assert (first.state.generation, first.state.digest) == (1, OLD.digest)
        async with engine_on(new_store(), NEW) as new:
            second = await new.apply("s", [pushed("b", kind=Kind.CLOSING)])
            assert (second.state.generation, second.state.digest) == (2, NEW.digest)
            third = await old.apply("s", [pushed("c", kind=Kind.CLOSING)])
            assert (third.state.generation, third.state.digest) == (2, NEW.digest)
            stored = await old.stored("s")
            assert stored.due.settle == third.state.open.closing_at + 9000  # type: ignore[operator]
            # A process that never met the old rules replays the tail all the same.
            async with engine_on(new_store(), NEW) as later:
                assert later.book.generation == 2
                assert await later.state("s") == third.state


async def test_an_older_process_learns_newer_rules_from_the_store(new_store: NewStore) -> None:
    async with engine_on(new_store(), OLD) as old, engine_on(new_store(), NEW) as new:
        await new.apply("s", [pushed("a", kind=Kind.CLOSING)])
        applied = await old.apply("s", [pushed("b", kind=Kind.CLOSING)])
        assert applied.state.digest == NEW.digest


async def test_the_same_rules_keep_their_generation(new_store: NewStore) -> None:
    async with engine_on(new_store(), OLD) as one, engine_on(new_store(), OLD) as other:
        assert one.book.generation == other.book.generation == 1


async def test_rules_that_a_server_lost_while_its_link_stood_are_told_again(
    valkey: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "MEASURE_EVERY_MS", 100)
    flush_server(valkey)
    stores = [RedisStore(valkey.url) for _ in range(2)]
    async with engine_on(stores[0], OLD) as old:
        flush_server(valkey)
        await old.apply("s", [pushed("a")])
        for _ in range(1000):
            if await stores[0].rules(OLD.digest) is not None:
                break
            await asyncio.sleep(0.02)
        # The next to be deployed, with other rules, can read what was stored meanwhile.
        async with engine_on(stores[1], NEW) as new:
            applied = await new.apply("s", [pushed("b")])
            assert [event.id for event in applied.state.open.events] == ["a", "b"]
            assert applied.state.digest == NEW.digest
    for store in stores:
        await store.close()
    await asyncio.sleep(0.05)  # A measurement that was cut off has a connection to let go of.


async def test_a_call_has_the_time_that_its_lease_was_given_by(new_store: NewStore) -> None:
    """During a deployment a process calls the judge for scopes whose rules are newer than its own."""

    async def judge(input: JudgeInput) -> Judgment:
        await asyncio.sleep(0.5)
        return await rule(input)

    kinds = {"u": "flush"}
    old = Attend(store=new_store(), kind=kinds, judge=judge, settle={"judge_timeout_ms": 50})
    new = Attend(store=new_store(), kind=kinds, judge=judge, settle={"judge_timeout_ms": 10_000})
    async with running(old):
        await new.start()
        await new.push("s", [{"name": "u"}])
        for _ in range(1000):
            if await logged(old.store):
                break
            await asyncio.sleep(0.02)
        assert [row.starts for row in await logged(old.store)] == [1]
    await new.engine.close()
