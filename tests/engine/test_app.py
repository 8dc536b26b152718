"""The library's face: what a push takes and refuses, requests with ids, sources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from attend.app import Attend
from attend.core.event import NewEvent
from attend.core.rules import Rules
from attend.core.types import Decision, Judgment, Kind, Reason
from attend.errors import (
    AlreadyAttachedError,
    ConfigError,
    EventError,
    OutboxFullError,
    PermanentError,
)
from attend.sinks.routes import routes
from attend.source import Emit
from attend.store.base import ScopeStore
from attend.trace import EventRefused, SourceFailed, Trace
from tests.engine.world import logged, running, until

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]


async def test_the_quickstart_tells_the_agent_both_lines() -> None:
    heard: list[Decision] = []
    sink = routes(interrupt=heard.append, queue=heard.append, note=heard.append, ask=heard.append)
    async with running(Attend(kind={"user.message": "flush"}, sink=sink, dead_letter="log")) as app:
        await app.push(
            "session-1",
            [
                {"name": "build.failed", "text": "Build 4521 failed: 1 test"},
                {"name": "user.message", "text": "can you look?"},
            ],
        )
        await until(lambda: bool(heard))
        assert heard[0].notice == (
            "Build 4521 failed: 1 test\ncan you look?\nAttend to this now, even mid-task."
        )


async def test_ids_and_instants_are_given_once() -> None:
    async with Attend() as app:
        assert (await app.push("s", [{"name": "a"}, {"name": "a"}, NewEvent("a")])).accepted == 3
        state = await app.engine.state("s")
        assert state is not None
        assert len({event.id for event in state.open.events}) == 3
        assert all(event.at == event.accepted_at for event in state.open.events)


async def test_a_bad_event_is_refused_and_its_neighbours_are_taken() -> None:
    def kind(event: NewEvent) -> str:
        if event.name == "raises":
            raise KeyError("severity")
        return "no such kind" if event.name == "none" else "closing"

    async with Attend(kind=kind) as app:
        bad_ones: list[tuple[dict[str, Any], str]] = [
            ({"name": "raises"}, "bad_kind"),
            ({"name": "none"}, "bad_kind"),
            ({"name": ""}, "bad_name"),
            ({"name": "x" * 257}, "bad_name"),
            ({"name": "a", "id": ""}, "bad_id"),
            ({"name": "a", "at": "now"}, "bad_at"),
            ({"name": "a", "data": float("nan")}, "bad_data"),
            ({"name": "a", "data": {1, 2}}, "bad_data"),
            ({"name": "a", "text": 3}, "bad_text"),
            ({"name": "a", "textt": "x"}, "unknown_key"),
            ({"name": "a", "text": "\ud800"}, "bad_text"),
        ]
        for bad, code in bad_ones:
            with pytest.raises(EventError, match="event 1") as raised:
                await app.push("s", [{"name": "good"}, bad, {"name": "good"}])
            assert raised.value.code == code
        state = await app.engine.state("s")
        assert state is not None
        assert len(state.open.events) == 2 * len(bad_ones)
        with pytest.raises(EventError):
            await app.push("", [{"name": "a"}])
        with pytest.raises(EventError):
            await app.push("x" * 513, [{"name": "a"}])


async def test_kinds_come_from_names_and_globs() -> None:
    app = Attend(kind={"a.b": "flush", "a.*": "closing"}, default_kind="context")
    assert app.kind_of(NewEvent("a.b")) is Kind.FLUSH
    assert app.kind_of(NewEvent("a.c")) is Kind.CLOSING
    assert app.kind_of(NewEvent("A.c")) is Kind.CONTEXT


def plain(_: object) -> Judgment:
    """What is no judge, since nobody can wait for it."""
    return Judgment("note")


class Deliverer:
    """What is no sink, for the same reason."""

    def deliver(self, _: object) -> None:
        """Nothing."""


async def test_wrong_settings_are_refused_with_what_would_be_right() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"settle": {"max_evnts": 3}}, "max_evnts"),
        ({"settle": {"max_events": "many"}}, "max_events"),
        ({"settle": {"max_events": 900}}, "seen_count"),
        ({"act_threshold": 2.0}, "act_threshold"),
        ({"kind": {"a": "closng"}}, "closng"),
        ({"default_kind": "x"}, "default kind"),
        ({"sink": 3}, "sink"),
        ({"dead_letter": 3}, "dead_letter"),
        ({"judge": "rule"}, "judge is 'rule'"),
        ({"judge": plain}, "plain is a plain function, it must be an async def"),
        ({"judge": Judgment}, "Judgment is a class"),
        ({"sink": Deliverer()}, r"Deliverer.deliver is a plain function"),
    ]
    for options, word in wrong:
        with pytest.raises(ConfigError, match=word):
            Attend(**options)


async def test_a_judge_that_declares_its_context_bounds_windows() -> None:
    class Judge:
        context_tokens = 4048

        async def __call__(self, input: object, /) -> Any:
            raise NotImplementedError

    assert Attend(judge=Judge()).rules.max_window_bytes == 3000
    assert Attend(judge=Judge(), settle={"max_window_bytes": 5000}).rules.max_window_bytes == 5000
    assert Attend(judge=Judge(), window_share=0.25).rules.max_window_bytes == 1500


async def test_a_flush_sent_again_has_the_first_ones_outcome(new_store: NewStore) -> None:
    async with running(Attend(store=new_store())) as app:
        assert await app.flush("s", id="early") is False
        await app.push("s", [{"name": "log"}])
        assert await app.flush("s", id="f1") is True
        for _ in range(1000):
            if await logged(app.store):
                break
            await asyncio.sleep(0.01)
        await app.push("s", [{"name": "log"}])
        assert await app.flush("s", id="f1") is True
        assert await app.flush("s", id="early") is False
        assert await app.end("s") is True
        for _ in range(1000):
            if len(await logged(app.store)) == 2:
                break
            await asyncio.sleep(0.01)
        assert [row.reason for row in await logged(app.store)] == [Reason.FORCED, Reason.CLOSING]


async def test_a_full_outbox_refuses_its_scope_alone(new_store: NewStore) -> None:
    async def hang(decision: Decision) -> None:
        if decision.scope == "s":
            await asyncio.sleep(600)

    app = Attend(store=new_store(), kind={"u": "flush"}, sink=hang, settle={"max_outbox": 2}, grace_ms=10)
    async with running(app):
        for n in range(2):
            await app.push("s", [{"id": f"a{n}", "name": "u"}])
            for _ in range(1000):
                if len(await logged(app.store)) == n + 1:
                    break
                await asyncio.sleep(0.01)
        with pytest.raises(OutboxFullError) as raised:
            await app.push("s", [{"name": "log"}])
        assert raised.value.lane == "outbox"
        assert (await app.push("s", [{"id": "a0", "name": "u"}])).duplicates == (0,)
        assert (await app.push("t", [{"name": "log"}])).accepted == 1


class Tape:
    """A source over a list: fails where told to, once each."""

    key = "tape"

    def __init__(self, items: list[Any], failures: set[int], error: Exception | None = None) -> None:
        self.items = items
        self.failures = failures
        self.error = error or RuntimeError("the line is cut")
        self.cursors: list[str | None] = []
        self.held = asyncio.Event()

    async def run(self, cursor: str | None, emit: Emit) -> None:
        """Emit what comes after the cursor, one at a time."""
        self.cursors.append(cursor)
        for n in range(0 if cursor is None else int(cursor), len(self.items)):
            if n in self.failures:
                self.failures.discard(n)
                raise self.error
            await emit([self.items[n]], str(n + 1), gap=n == 1)


async def test_a_source_goes_on_from_its_committed_cursor(new_store: NewStore) -> None:
    traces: list[Trace] = []
    settle = Rules(retry_backoff_ms=(5, 10))
    tape = Tape([{"id": f"e{n}", "name": "log"} for n in range(6)], {2, 3, 5})
    async with Attend(store=new_store(), settle=settle, observe=traces.append) as app:
        await app.attach("s", tape)
        assert tape.cursors == [None, "2", "3", "5"]
        state = await app.engine.state("s")
        assert state is not None
        assert [event.id for event in state.open.events] == [f"e{n}" for n in range(6)]
        assert state.cursors == {"tape": "6"}
        assert state.open.gap
        retries = [trace.retry_ms for trace in traces if isinstance(trace, SourceFailed)]
        assert retries == [5, 5, 5]
    async with Attend(store=new_store(), settle=settle) as app:
        await app.attach("s", tape)
        assert tape.cursors[-1] == "6"


async def test_a_source_repeats_the_last_rung_and_a_permanent_error_ends_it() -> None:
    traces: list[Trace] = []

    class Broken:
        key = "broken"
        runs = 0

        async def run(self, cursor: str | None, emit: Emit) -> None:
            self.runs += 1
            raise PermanentError("gone") if self.runs == 5 else RuntimeError("again")

    async with Attend(settle=Rules(retry_backoff_ms=(1, 2)), observe=traces.append) as app:
        with pytest.raises(PermanentError):
            await app.attach("s", Broken())
    assert [each.retry_ms for each in traces if isinstance(each, SourceFailed)] == [1, 2, 2, 2]


async def test_a_source_is_attached_once_and_its_bad_events_are_told_of() -> None:
    traces: list[Trace] = []

    class Waiting:
        key = "waiting"

        async def run(self, cursor: str | None, emit: Emit) -> None:
            await emit([{"name": ""}, {"name": "ok"}], "1")
            await asyncio.sleep(600)

    async with Attend(observe=traces.append) as app:
        attached = asyncio.create_task(app.attach("s", Waiting()))
        await until(lambda: any(isinstance(trace, EventRefused) for trace in traces))
        with pytest.raises(AlreadyAttachedError):
            await app.attach("s", Waiting())
        other = asyncio.create_task(app.attach("t", Waiting()))
        await asyncio.sleep(0.05)
        assert not other.done()
        for task in (attached, other):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        state = await app.engine.state("s")
        assert state is not None
        assert [event.name for event in state.open.events] == ["ok"]
