"""A fake clock fires each timer at its own instant and lets what it set off end."""

from __future__ import annotations

import asyncio

import pytest

from attend.app import Attend
from attend.core.types import Judgment
from attend.judges.base import JudgeInput
from attend.testing import fake_clock, scripted_judge, trial
from tests.engine.world import running

pytestmark = pytest.mark.anyio


async def test_timers_fire_in_order_each_at_its_own_instant() -> None:
    clock = fake_clock(1000)
    seen: list[tuple[str, int]] = []

    async def after(name: str, ms: float, then: float | None = None) -> None:
        await clock.sleep(ms)
        seen.append((name, clock.now()))
        if then is not None:
            await after(name + "+", then)

    calls = (after("b", 20), after("a", 10, 5), after("c", 100), after("d", 14.5))
    tasks = [asyncio.create_task(call) for call in calls]
    await clock.advance(50)
    assert seen == [("a", 1010), ("d", 1015), ("a+", 1015), ("b", 1020)]
    assert clock.now() == 1050
    await clock.advance(49)
    assert len(seen) == 4
    await clock.advance(1)
    assert seen[-1] == ("c", 1100)
    await asyncio.gather(*tasks)


async def test_the_work_of_a_timer_ends_before_time_goes_on() -> None:
    clock = fake_clock(0)
    ended: list[int] = []

    async def work() -> None:
        await clock.sleep(10)
        for _ in range(500):
            await asyncio.sleep(0)
        ended.append(clock.now())

    task = asyncio.create_task(work())
    await clock.advance(1000)
    assert ended == [10]
    await task


async def test_time_stands_still_while_it_is_held() -> None:
    clock = fake_clock(0)
    ended: list[int] = []

    async def work() -> None:
        await clock.sleep(10)
        with clock.hold():
            await asyncio.to_thread(lambda: None)
            await asyncio.sleep(0.05)
        ended.append(clock.now())

    task = asyncio.create_task(work())
    await clock.advance(1000)
    assert ended == [10]
    await task


async def test_a_loop_that_never_rests_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attend.testing.clock.MOST_ROUNDS", 500)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - it is the one that must not rest
            await asyncio.sleep(0)

    task = asyncio.create_task(spin())
    with pytest.raises(RuntimeError, match="does not come to rest"):
        await fake_clock().advance(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        await fake_clock().advance(-1)


async def test_a_judge_that_hangs_ends_by_its_timeout_on_this_clock() -> None:
    async with trial([{"hang": True}, "note"], kind={"x": "flush"}) as t:
        await t.push("s", {"id": "1", "name": "x"})
        assert len(t.judge.calls) == 1
        await t.advance(14_999)
        assert len(t.judge.calls) == 1
        await t.advance(1)
        assert len(t.judge.calls) == 1
        await t.advance(1000)
        assert [call.starts for call in t.judge.calls] == [1, 2]
        assert [decision.route for decision in t.sink.delivered] == ["note"]


async def test_a_judge_that_takes_time_on_the_clock_answers_in_time() -> None:
    clock = fake_clock()
    answered: list[int] = []

    async def slow(input: JudgeInput) -> Judgment:
        await clock.sleep(140)
        answered.append(clock.now())
        return Judgment("queue")

    app = Attend(kind={"x": "flush"}, judge=slow, clock=clock)
    async with running(app):
        began = clock.now()
        await app.push("s", [{"name": "x"}])
        await clock.advance(139)
        assert answered == []
        await clock.advance(1)
        assert answered == [began + 140]


async def test_many_scopes_settle_at_one_instant() -> None:
    judge = scripted_judge("queue")
    async with trial(kind={"x": "closing"}, judge=judge) as t:
        for n in range(200):
            await t.app.push(f"s{n}", [{"id": "1", "name": "x"}])
        await t.advance(499)
        assert judge.calls == []
        await t.advance(1)
        assert len(judge.calls) == 200
        assert len(t.sink.delivered) == 200


async def test_time_passes_fast() -> None:
    async with trial("skip", kind={"x": "closing"}) as t:
        for n in range(50):
            await t.push("s", {"id": str(n), "name": "x"})
            await t.advance(3_600_000)
        assert len(t.judge.calls) == 50
