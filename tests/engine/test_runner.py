"""The runner: what is due is judged, delivered and buried; nothing is lost on the way out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.core.trace import CallRetried
from attend.core.types import DeadLetter, Decision, Judgment, Reason, Route, Stage
from attend.errors import PermanentError
from attend.judges.base import JudgeImage, JudgeInput
from attend.judges.rule import rule
from attend.sinks.routes import routes
from attend.store.base import ScopeStore
from attend.trace import CaptureFailed, Trace
from tests.engine.world import logged, running, until

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

KINDS = {"u": "flush", "c": "closing", "p": "passive"}


class Inbox:
    """A sink that keeps what it gets; the first `failures` deliveries raise."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.decisions: list[Decision] = []
        self.failures = failures
        self.error = error or RuntimeError("the inbox is full")
        self.attempts = 0

    async def deliver(self, decision: Decision) -> None:
        """Keep it."""
        self.attempts += 1
        if self.failures > 0:
            self.failures -= 1
            raise self.error
        self.decisions.append(decision)


async def test_what_is_pushed_is_judged_and_delivered(new_store: NewStore) -> None:
    inbox = Inbox()
    async with running(Attend(store=new_store(), kind=KINDS, sink=inbox)) as app:
        for n in range(20):
            await app.push(f"s{n}", [{"id": "a", "name": "log"}, {"id": "b", "name": "u", "text": "hello"}])
        await until(lambda: len(inbox.decisions) == 20)
        assert {each.route for each in inbox.decisions} == {Route.INTERRUPT}
        assert inbox.decisions[0].event_ids == ("a", "b")
        assert "hello" in inbox.decisions[0].notice
        rows = await logged(app.store)
        assert sorted(row.id for row in rows) == sorted(each.id for each in inbox.decisions)

        async def at_rest() -> bool:
            states = [await app.engine.state(f"s{n}") for n in range(20)]
            return all(state is not None and not state.outbox and state.slot is None for state in states)

        for _ in range(1000):
            if await at_rest():
                break
            await asyncio.sleep(0.01)
        assert await at_rest()


async def test_a_window_settles_at_its_deadline(new_store: NewStore) -> None:
    judged: list[tuple[int, JudgeInput]] = []

    async def judge(input: JudgeInput) -> Judgment:
        judged.append((app.clock.now(), input))
        return await rule(input)

    app = Attend(store=new_store(), kind=KINDS, judge=judge, settle={"closing_grace_ms": 200})
    async with running(app):
        await app.push("s", [{"name": "c"}])
        pushed_at = app.clock.now()
        await until(lambda: bool(judged))
        at, asked = judged[0]
        assert at - pushed_at >= 150
        assert asked.window.reason is Reason.CLOSING
        assert Route.WAIT in asked.routes


async def test_decisions_of_a_scope_are_delivered_in_order(new_store: NewStore) -> None:
    inbox = Inbox(failures=1)
    settle = {"retry_backoff_ms": (20, 20, 20)}
    async with running(Attend(store=new_store(), kind=KINDS, sink=inbox, settle=settle)) as app:
        for n in range(10):
            await app.push("s", [{"id": f"e{n}", "name": "u"}])
            await asyncio.sleep(0.02)
        await until(lambda: sum(len(each.event_ids) for each in inbox.decisions) == 10)
        ids = [id for each in inbox.decisions for id in each.event_ids]
        assert ids == [f"e{n}" for n in range(10)]
        assert [each.id for each in inbox.decisions] == [row.id for row in await logged(app.store)]


async def test_a_judge_that_raises_is_asked_again_and_told_so(new_store: NewStore) -> None:
    starts: list[int] = []
    traces: list[Trace] = []

    class OverloadedError(Exception):
        retry_after_ms = 300

    async def judge(input: JudgeInput) -> Judgment:
        starts.append(input.starts)
        if input.starts == 1:
            raise OverloadedError("busy")
        if input.starts == 2:
            await asyncio.sleep(60)
        if input.starts == 3:
            return Judgment("wait")
        return await rule(input)

    settle = {"retry_backoff_ms": (10, 10, 10), "judge_timeout_ms": 200}
    app = Attend(store=new_store(), kind=KINDS, judge=judge, settle=settle, observe=traces.append)
    async with running(app):
        await app.push("s", [{"name": "u"}])
        await until(lambda: len(starts) == 4)
        retried = [trace for trace in traces if isinstance(trace, CallRetried)]
        assert [trace.message for trace in retried[:2]] == ["busy", "the judge did not answer within 200 ms"]
        assert "'wait'" in retried[2].message
        assert starts == [1, 2, 3, 4]


async def test_what_no_judge_takes_becomes_a_dead_letter(new_store: NewStore) -> None:
    letters: list[DeadLetter] = []
    refusals = 1

    def bury(letter: DeadLetter) -> None:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise RuntimeError("not now")
        letters.append(letter)

    async def judge(input: JudgeInput) -> Judgment:
        if input.scope == "bad":
            raise PermanentError("refused")
        if input.scope == "worse":
            return "queue"  # type: ignore[return-value]
        return await rule(input)

    settle = {"retry_backoff_ms": (10, 10), "dead_letter_backoff_max_ms": 20}
    app = Attend(store=new_store(), kind=KINDS, judge=judge, dead_letter=bury, settle=settle)
    async with running(app):
        for scope in ("bad", "worse", "good"):
            await app.push(scope, [{"id": "a", "name": "u"}])
        await until(lambda: len(letters) == 2)
        found = {letter.scope: letter for letter in letters}
        assert (found["bad"].stage, found["bad"].message, found["bad"].starts) == (Stage.JUDGE, "refused", 1)
        assert found["worse"].starts == 3
        assert "must return a Judgment" in found["worse"].message
        assert found["bad"].window.event_ids == ("a",)
        assert found["bad"].decision is None
        assert [row.scope for row in await logged(app.store)] == ["good"]


async def test_what_no_sink_takes_becomes_a_dead_letter_with_its_decision(new_store: NewStore) -> None:
    letters: list[DeadLetter] = []
    inbox = Inbox(failures=1, error=PermanentError("gone"))

    async def bury(letter: DeadLetter) -> None:
        letters.append(letter)

    async with running(Attend(store=new_store(), kind=KINDS, sink=inbox, dead_letter=bury)) as app:
        await app.push("s", [{"id": "a", "name": "u"}])
        await until(lambda: len(letters) == 1)
        assert letters[0].stage is Stage.SINK
        assert letters[0].decision is not None
        assert letters[0].decision.route is Route.INTERRUPT
        await app.push("s", [{"id": "b", "name": "u"}])
        await until(lambda: len(inbox.decisions) == 1)


async def test_hanging_sinks_hold_up_no_judge(new_store: NewStore) -> None:
    judged: list[str] = []
    hanging: list[str] = []

    async def judge(input: JudgeInput) -> Judgment:
        judged.append(input.scope)
        return await rule(input)

    async def hang(decision: Decision) -> None:
        hanging.append(decision.scope)
        await asyncio.sleep(600)

    sink = routes(interrupt=hang, queue=hang, note=hang, ask=hang)
    app = Attend(store=new_store(), kind=KINDS, judge=judge, sink=sink, slots=10, grace_ms=50)
    async with running(app):
        for n in range(10):
            await app.push(f"s{n}", [{"name": "u"}])
        await until(lambda: len(hanging) == 10)
        for n in range(30):
            await app.push(f"t{n}", [{"name": "u"}])
        await until(lambda: len(judged) == 40)


async def test_the_judge_is_told_facts_and_images_and_gets_on_without(new_store: NewStore) -> None:
    asked: list[JudgeInput] = []
    traces: list[Trace] = []

    async def judge(input: JudgeInput) -> Judgment:
        asked.append(input)
        return await rule(input)

    async def capture(scope: str) -> JudgeImage:
        if scope == "slow":
            await asyncio.sleep(60)
        return JudgeImage("aGk=", "image/png")

    def context(scope: str) -> dict[str, str]:
        if scope == "slow":
            raise ValueError("no facts")
        return {"scope": scope}

    app = Attend(
        store=new_store(),
        kind=KINDS,
        judge=judge,
        capture=capture,
        context=context,
        guidance="Be brief.",
        predicates={"asked": "Did they ask?"},
        observe=traces.append,
    )
    async with running(app):
        await app.push("quick", [{"name": "u"}])
        await until(lambda: len(asked) == 1)
        assert asked[0].images == (JudgeImage("aGk=", "image/png"),)
        assert (asked[0].facts, asked[0].guidance) == ({"scope": "quick"}, "Be brief.")
        assert asked[0].predicates == {"asked": "Did they ask?"}
        await app.push("slow", [{"name": "u"}])
        await until(lambda: len(asked) == 2)
        assert (asked[1].images, asked[1].facts) == ((), None)
        failed = [trace for trace in traces if isinstance(trace, CaptureFailed)]
        assert {(trace.what, trace.message) for trace in failed} == {
            ("context", "no facts"),
            ("capture", "capture() did not answer within 500 ms"),
        }
