"""Workers that die with a call in hand: by the operator's hand, or by the window's."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.core.types import Stage
from tests.workers.crew import Crew, decided, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

NewCrew = Callable[..., Crew]
Producer = Callable[..., Attend]

SETTLE = {"judge_timeout_ms": 2000, "retry_backoff_ms": (200, 400, 800)}
SETTLE_FLAG = '{"judge_timeout_ms":2000,"retry_backoff_ms":[200,400,800]}'


async def taken(_: object) -> None:
    """What a producer's process would do with decisions and letters, which go to the crew."""


async def test_after_a_kill_another_worker_judges_once_the_lease_is_over(
    new_crew: NewCrew, producer: Producer
) -> None:
    crew = new_crew(
        """
        async def judge(input):
            note(input.starts, time.time())
            await asyncio.sleep(1.5 if input.starts == 1 else 0)
            return await rule(input)
        """,
        judge="ours:judge",
        settle=SETTLE_FLAG,
    )
    app = producer(settle=SETTLE)
    await app.start()
    crew.start()
    crew.start()
    await until(lambda: crew.log.count("worker ready") == 2)
    # Past the quiet time after connecting.
    await until(lambda: app.engine.link.quiet_ms == 0)
    await app.push("s", [{"name": "u"}])
    await until(lambda: bool(crew.noted()))
    holder, _, called_at = crew.noted()[0]
    [victim] = [member for member in crew.members if member.pid == int(holder)]
    victim.kill()
    rows = await decided(app.store, 1)
    assert [row.starts for row in rows] == [2]
    second = crew.noted()[1]
    assert second[0] != holder
    # The lease is twice the timeout; a slow machine gets some more.
    assert 3.5 <= float(second[2]) - float(called_at) <= 4 + 2 + 4
    assert len(crew.noted()) == 2


async def test_a_window_that_kills_its_worker_ends_as_a_dead_letter_and_its_neighbours_are_judged(
    new_crew: NewCrew, producer: Producer
) -> None:
    crew = new_crew(
        """
        async def judge(input):
            note(input.scope, input.starts)
            if input.scope == "P" and not any(event.text == "fine" for event in input.window.events):
                os._exit(9)
            await asyncio.sleep(0.05)
            return await rule(input)

        async def bury(letter):
            note("buried", letter.scope, letter.stage, letter.starts)
        """,
        judge="ours:judge",
        dead_letter="ours:bury",
        settle=SETTLE_FLAG,
    )
    app = producer(settle=SETTLE, dead_letter=taken)
    for _ in range(3):
        crew.start()
    await app.push("P", [{"name": "u"}])
    for n in range(20):
        await app.push(f"s{n}", [{"name": "u"}])
    started = time.monotonic()
    while not any(words[1] == "buried" for words in crew.noted()):
        crew.replace_dead()
        assert time.monotonic() - started < 120, crew.log[-3000:]
        await asyncio.sleep(0.05)
    rows = await decided(app.store, 20)
    assert {row.scope for row in rows} == {f"s{n}" for n in range(20)}
    buried = [words[2:] for words in crew.noted() if words[1] == "buried"]
    assert buried == [["P", Stage.JUDGE, "4"]]
    calls = Counter(words[1] for words in crew.noted())
    assert calls["P"] == 4
    # Its last two calls were in processes of their own, which cost no worker.
    assert crew.deaths == 2
    await app.push("P", [{"name": "u", "text": "fine"}])
    rows = await decided(app.store, 21)
    assert rows[-1].scope == "P"


async def test_a_delivery_that_kills_its_worker_ends_as_a_dead_letter_too(
    new_crew: NewCrew, producer: Producer
) -> None:
    crew = new_crew(
        """
        async def sink(decision):
            note(decision.scope)
            if decision.scope == "P":
                os._exit(9)

        async def bury(letter):
            note("buried", letter.scope, letter.stage, letter.starts)
        """,
        sink="ours:sink",
        dead_letter="ours:bury",
        settle='{"delivery_timeout_ms":3000,"retry_backoff_ms":[200,400,800]}',
    )
    app = producer(
        settle={"delivery_timeout_ms": 3000, "retry_backoff_ms": (200, 400, 800)},
        sink=taken,
        dead_letter=taken,
    )
    crew.start()
    for scope in ("P", "a", "b"):
        await app.push(scope, [{"name": "u"}])
    started = time.monotonic()
    while not any(words[1] == "buried" for words in crew.noted()):
        crew.replace_dead()
        assert time.monotonic() - started < 120, crew.log[-3000:]
        await asyncio.sleep(0.05)
    assert [words[2:] for words in crew.noted() if words[1] == "buried"] == [["P", Stage.SINK, "4"]]
    assert crew.deaths == 2
    await until(lambda: {"a", "b"} <= {words[1] for words in crew.noted()})
