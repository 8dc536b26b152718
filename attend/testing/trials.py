"""A whole attend on a fake clock, running, in one line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from attend.app import Attend
from attend.core.event import NewEvent
from attend.core.step import Taken
from attend.core.types import DeadLetter
from attend.testing.clock import FakeClock
from attend.testing.script import Answer, RecordingSink, ScriptedJudge, scripted_judge

SLOTS = 4096
"""Runs in hand at once: more than ever come due at one instant, since a lane that is full looks again in real time."""


class Trial:
    """An `Attend` that runs, and all that a test looks at.

    `judge` has the `calls`, `sink` what was `delivered`, `letters` the dead letters in order.
    """

    def __init__(
        self,
        app: Attend,
        clock: FakeClock,
        judge: ScriptedJudge,
        sink: RecordingSink,
        letters: list[DeadLetter],
    ) -> None:
        self.app = app
        self.clock = clock
        self.judge = judge
        self.sink = sink
        self.letters = letters

    async def push(self, scope: str, *events: NewEvent | Mapping[str, Any]) -> Taken:
        """Push events, as `Attend.push` does, and let what they set off at this instant end."""
        taken = await self.app.push(scope, events)
        await self.clock.rest()
        return taken

    async def advance(self, ms: int) -> None:
        """Let time pass: see `FakeClock.advance`."""
        await self.clock.advance(ms)


@asynccontextmanager
async def trial(
    answers: Sequence[Answer] | Answer = ("queue",), *, clock: FakeClock | None = None, **options: Any
) -> AsyncGenerator[Trial]:
    """An attend that runs on a fake clock, in memory, and stops at the end.

    `answers` are those of its scripted judge; `options` are `Attend`'s, and go before what is set here. Raises
    `ConfigError`, and at the end what the runner raised.
    """
    time = clock or FakeClock()
    judge, sink = scripted_judge(answers), RecordingSink()
    letters: list[DeadLetter] = []
    given: dict[str, Any] = {
        "judge": judge,
        "sink": sink,
        "dead_letter": letters.append,
        "clock": time,
        "grace_ms": 0,
        "slots": SLOTS,
        **options,
    }
    app = Attend(**given)
    await app.start()
    running = asyncio.create_task(app.run())
    try:
        await time.rest()
        yield Trial(app, time, judge, sink, letters)
        if running.done():
            running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await app.close()
