"""Suspect windows: in a process of their own, one at a time, the other slots going on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.call import CallLostError
from attend.core.effect import Judge
from attend.core.input import Lost, Ticked
from attend.core.types import Decision, Judgment, Lane
from attend.engine import Claim
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.store.base import ScopeStore
from tests.engine.world import logged, running, until

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

SETTLE = {"retry_backoff_ms": (20, 20, 20), "judge_timeout_ms": 30_000}


class Alone:
    """An isolation that notes what it is given; scopes named `dies...` take their process along."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.running = 0
        self.most = 0
        self.go = asyncio.Event()

    async def judge(self, input: JudgeInput, timeout_ms: int) -> Judgment:
        """Judge, once it may."""
        self.judged.append(input.scope)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        if input.scope.startswith("dies"):
            raise CallLostError("it died")
        return await rule(input)

    async def deliver(self, decision: Decision) -> None:
        """Nothing is delivered here."""


async def lose_twice(app: Attend, scope: str) -> None:
    """What two workers that died over a window leave behind."""
    await app.push(scope, [{"id": scope, "name": "u"}])
    for _ in range(2):
        while True:
            now = app.clock.now()
            claim = Claim(Lane.SETTLE, now, now + 1000)
            calls = (await app.engine.apply(scope, [Ticked(Lane.SETTLE)], claim=claim)).effects
            if calls:
                break
            await asyncio.sleep(0.005)
        [call] = calls
        assert isinstance(call, Judge)
        await app.engine.apply(scope, [Lost(Lane.SETTLE, call.window.id, call.token)])


async def test_suspects_take_turns_while_others_are_judged(new_store: NewStore) -> None:
    alone = Alone()
    store = new_store()
    app = Attend(store=store, kind={"u": "flush"}, settle=SETTLE, isolation=alone, slots=4)
    await app.start()
    for n in range(3):
        await lose_twice(app, f"suspect{n}")
    await lose_twice(app, "dies")
    async with running(app):
        await until(lambda: len(alone.judged) == 1)
        # Longer than a claim: those that wait keep theirs, and no lease runs while they do.
        for n in range(20):
            await app.push(f"s{n}", [{"name": "u"}])
            await asyncio.sleep(0.12)
        for _ in range(1000):
            if len(await logged(store)) == 20:
                break
            await asyncio.sleep(0.01)
        assert {row.scope for row in await logged(store)} == {f"s{n}" for n in range(20)}
        alone.go.set()
        for _ in range(2000):
            if len(await logged(store)) == 23:
                break
            await asyncio.sleep(0.01)
        rows = {row.scope: row.starts for row in await logged(store)}
        assert {scope for scope in rows if scope.startswith("suspect")} == {f"suspect{n}" for n in range(3)}
        assert {rows[f"suspect{n}"] for n in range(3)} == {3}
        await until(lambda: alone.judged.count("dies") == 2)
        state = await app.engine.state("dies")
        while state is None or not state.dead:
            await asyncio.sleep(0.01)
            state = await app.engine.state("dies")
        assert [dead.starts for dead in state.dead] == [4]
        assert alone.most == 1


async def test_without_isolation_a_suspect_is_judged_in_the_process(new_store: NewStore) -> None:
    app = Attend(store=new_store(), kind={"u": "flush"}, settle=SETTLE)
    await app.start()
    await lose_twice(app, "s")
    async with running(app):
        for _ in range(1000):
            if await logged(app.store):
                break
            await asyncio.sleep(0.01)
        assert [row.starts for row in await logged(app.store)] == [3]
