"""The example of docs/testing.md, as a user writes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from attend import Attend, DeadLetter, MemoryStore, NewEvent
from attend.testing import (
    Answer,
    FakeClock,
    RecordingSink,
    ScriptedJudge,
    fake_clock,
    recording_sink,
    scripted_judge,
)

pytestmark = pytest.mark.anyio


def kind(event: NewEvent) -> str:
    if event.name == "user.message":
        return "flush"
    if event.name == "build.finished":
        return "closing"
    return "consequence"


class Parts(NamedTuple):
    clock: FakeClock
    judge: ScriptedJudge
    sink: RecordingSink
    letters: list[DeadLetter]
    app: Attend


@asynccontextmanager
async def setup(answers: Sequence[Answer]) -> AsyncGenerator[Parts]:
    clock, judge, sink = fake_clock(), scripted_judge(answers), recording_sink()
    letters: list[DeadLetter] = []
    app = Attend(
        store=MemoryStore(), kind=kind, judge=judge, sink=sink, clock=clock, dead_letter=letters.append
    )
    async with app:
        running = asyncio.create_task(app.run())
        yield Parts(clock, judge, sink, letters, app)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_finished_build_is_judged_after_the_closing_grace_with_its_log_lines() -> None:
    async with setup([{"route": "queue"}]) as (clock, judge, sink, letters, app):
        await app.push(
            "repo",
            [
                {"id": "log-1", "at": 0, "name": "build.log", "data": {"line": "pytest -q"}},
                {"id": "done-1", "at": 0, "name": "build.finished", "data": {"ok": False}},
            ],
        )
        await clock.advance(499)
        assert judge.calls == []
        await clock.advance(1)
        assert [event.id for event in judge.calls[0].window.events] == ["log-1", "done-1"]
        assert [decision.route for decision in sink.delivered] == ["queue"]
        assert letters == []
