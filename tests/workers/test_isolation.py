"""Calls in a child process: what they return, raise, and what their death means."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace

from attend.call import CallLostError
from attend.core.types import Decision, Event, Judgment, Kind, Reason, Route, Window
from attend.errors import JudgeRejectedError, PermanentError
from attend.judges.base import JudgeInput
from attend.settings import Settings
from attend.workers.isolation import ChildError, ChildProcesses
from tests.judges.fakes.jev import KEY, FakeJev
from tests.judges.fakes.server import Answer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

CODE = """
    import asyncio, os
    from attend import JudgeRejectedError, Judgment, PermanentError, rule

    class Busy(Exception):
        retry_after_ms = 1234

    async def judge(input):
        print("noise on stdout")
        match input.scope:
            case "permanent": raise PermanentError("no")
            case "keyless": raise JudgeRejectedError("no key")
            case "busy": raise Busy("later")
            case "dies": os._exit(9)
            case "hangs": await asyncio.sleep(600)
            case "wrong": return None
        return await rule(input)

    async def sink(decision):
        if decision.scope == "dies":
            os._exit(9)
        with open("taken", "a") as taken:
            taken.write(decision.id)
"""


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChildProcesses:
    """Children that find the code above."""
    (tmp_path / "ours.py").write_text(textwrap.dedent(CODE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return ChildProcesses(Settings(store="redis://nowhere", judge="ours:judge", sink="ours:sink"))


def window(scope: str) -> Window:
    """A window of one event."""
    return Window(scope, (Event("e", "u", Kind.FLUSH, 0),), Reason.FLUSH, 0)


def asked(scope: str) -> JudgeInput:
    """A question about it."""
    routes = (Route.INTERRUPT, Route.QUEUE)
    return JudgeInput(scope=scope, window=window(scope), routes=routes, facts={"n": [1, None]})


async def test_a_child_judges(children: ChildProcesses) -> None:
    assert await children.judge(asked("s"), 60_000) == Judgment("interrupt", confidence=1.0, judge="rule")


async def test_what_the_judge_raises_comes_back(children: ChildProcesses) -> None:
    with pytest.raises(JudgeRejectedError, match="no key"):
        await children.judge(asked("keyless"), 60_000)
    with pytest.raises(PermanentError, match="no"):
        await children.judge(asked("permanent"), 60_000)
    with pytest.raises(ChildError, match="later") as raised:
        await children.judge(asked("busy"), 60_000)
    assert raised.value.retry_after_ms == 1234


async def test_a_child_that_dies_is_a_loss(children: ChildProcesses) -> None:
    with pytest.raises(CallLostError):
        await children.judge(asked("dies"), 60_000)


async def test_a_child_that_hangs_is_late(children: ChildProcesses) -> None:
    with pytest.raises(TimeoutError, match="300 ms"):
        await children.judge(asked("hangs"), 300)


async def test_a_child_delivers(children: ChildProcesses, tmp_path: Path) -> None:
    def decision(scope: str) -> Decision:
        return Decision(
            id="d",
            scope=scope,
            route=Route.QUEUE,
            reason=Reason.FLUSH,
            decided_at=0,
            notice="",
            event_ids=("e",),
            window=window(scope),
        )

    await children.deliver(decision("s"))
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "d"
    with pytest.raises(CallLostError):
        await children.deliver(decision("dies"))


def test_a_child_ends_with_its_worker(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "attend.workers.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "ATTEND_STORE": "redis://nowhere"},
    )
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(30) == 1
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stderr.close()


async def test_a_child_asks_a_hosted_judge_with_the_key_it_was_given() -> None:
    fake = FakeJev()
    async with fake.running():
        url = f"{fake.url}/v1/systemone"
        settings = Settings(store="redis://nowhere", judge="jev", judge_url=url, judge_key=KEY)
        verdict = await ChildProcesses(settings).judge(asked("s"), 60_000)
        assert verdict.judge == "jev:jev-1.14.0"
        fake.answers(Answer(429, {}, {"retry-after": "7200"}))
        with pytest.raises(ChildError) as busy:
            await ChildProcesses(settings).judge(asked("s"), 60_000)
        assert busy.value.retry_after_ms == 7_200_000
        with pytest.raises(JudgeRejectedError, match="401"):
            await ChildProcesses(replace(settings, judge_key="wrong")).judge(asked("s"), 60_000)
