"""The crash suites: a scripted life, then again with a crash at each of its commits, and the same decisions each time.

The rules: effects only after a committed write; at least once per decision id, in order per scope; nothing
accepted is lost; a commit whose reply was lost is not applied twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from attend.core.input import Ended, Flushed
from attend.core.rules import Rules
from attend.core.types import Event, Judgment, Kind, Route
from attend.errors import PermanentError
from attend.judges.base import JudgeInput
from attend.testing.crash import Crash
from attend.testing.harness import Act, Advance, Harness, Outcome, Push, Request
from attend.testing.suite import Case, MakeStore, made

RULES = Rules(
    closing_grace_ms=500,
    judge_timeout_ms=1000,
    delivery_timeout_ms=1000,
    retry_backoff_ms=(100, 100),
    wait_horizon_ms=60_000,
    max_window_ms=600_000,
    sink=True,
    dead_letter=True,
)

_KINDS = {"done": Kind.CLOSING, "say": Kind.FLUSH, "type": Kind.CONTINUOUS, "out": Kind.CONTEXT}


def event(event_id: str, name: str, text: str | None = None) -> Event:
    """An event whose kind is told by its name."""
    return Event(event_id, name, _KINDS.get(name, Kind.CONSEQUENCE), 0, b"{}", text)


async def judge(input: JudgeInput) -> Judgment:
    """Answers what the window's last event with a text says, where that is on offer."""
    said = [event.text for event in input.window.events if event.text]
    if said and said[-1] == "refuse":
        raise PermanentError("it was refused")
    if said and said[-1] == "wait":
        return Judgment("wait" if Route.WAIT in input.routes else "note")
    return Judgment(said[-1] if said else "queue")


class Life:
    """A script, the decisions it comes to (route, reason, event ids) by scope, and the ids of its dead letters."""

    def __init__(
        self,
        script: Sequence[Act],
        decisions: Mapping[str, Sequence[tuple[str, str, tuple[str, ...]]]],
        letters: Sequence[tuple[str, ...]],
    ) -> None:
        self.script = script
        self.decisions = decisions
        self.letters = letters

    async def live(self, make: MakeStore, at: int | None, crash: Crash) -> Outcome:
        """The script, once, on a store of its own."""
        store = await made(make)
        try:
            return await Harness(store, RULES, judge, at=at, crash=crash).run(self.script)
        finally:
            await store.close()

    async def straight(self, make: MakeStore) -> None:
        """Without a crash it comes to what it is meant to."""
        outcome = await self.live(make, None, Crash.BEFORE)
        by_scope: dict[str, list[tuple[str, str, tuple[str, ...]]]] = defaultdict(list)
        for decision in outcome.decisions:
            by_scope[decision.scope].append((decision.route, decision.reason, decision.event_ids))
        assert by_scope == self.decisions
        assert [letter.window.event_ids for letter in outcome.buried] == self.letters
        delivered = sorted(decision.id for decision in outcome.delivered)
        assert delivered == sorted(decision.id for decision in outcome.decisions)

    async def crashed(self, make: MakeStore, crash: Crash) -> None:
        """With a crash at any commit it comes to the same."""
        straight = await self.live(make, None, crash)
        crashed = 0
        for at in range(1, straight.commits + 1):
            outcome = await self.live(make, at, crash)
            crashed += outcome.crashed
            assert _told(outcome) == _told(straight), f"crashed {crash} commit {at}"
            ids = [decision.id for decision in outcome.decisions]
            assert len(set(ids)) == len(ids), f"crashed {crash} commit {at}"
            # Handlers may be called again for what they had when the process died, with the same id.
            assert {each.id for each in outcome.delivered} == set(ids), f"crashed {crash} commit {at}"
            assert {each.id for each in outcome.buried} == {each.id for each in straight.buried}
        if crash is not Crash.REPLY_LOST:
            assert crashed > straight.commits / 2


def _told(outcome: Outcome) -> dict[str, list[tuple[str, Route]]]:
    """Each scope's decisions in order."""
    scopes: dict[str, list[tuple[str, Route]]] = defaultdict(list)
    for decision in outcome.decisions:
        scopes[decision.scope].append((decision.id, decision.route))
    return scopes


ONE_SCOPE = Life(
    (
        Push({"a": [event("a1", "log"), event("a2", "done", "wait")]}),
        Advance(600),
        Push({"a": [event("a3", "log"), event("a4", "say", "interrupt")]}),
        Advance(0),
        Push({"a": [event("a2", "done", "wait"), event("a5", "done", "refuse")]}),
        Advance(600),
        Push({"a": [event("a6", "type", "note")]}),
        Request("a", Ended("end-1")),
        Advance(2000),
    ),
    {
        "a": [
            ("interrupt", "flush", ("a1", "a2", "a3", "a4")),
            ("note", "closing", ("a6",)),
        ]
    },
    [("a5",)],
)

SEVERAL_SCOPES = Life(
    (
        Push({"a": [event("a1", "log"), event("a2", "done", "interrupt")], "b": [event("b1", "log")]}),
        Advance(200),
        Push(
            {
                "a": [event("a3", "log")],
                "b": [event("b2", "done", "wait")],
                "c": [event("c1", "type", "note")],
            }
        ),
        Advance(1500),
        Push({"b": [event("b3", "say", "ask")], "c": [event("c2", "out"), event("c3", "log")]}),
        Advance(0),
        Request("c", Flushed("flush-1")),
        Push({"d": [event("d1", "done", "refuse")], "e": [event("e1", "done", "skip")]}),
        Request("e", Ended("end-1")),
        Advance(800),
        Push(
            {"a": [event("a1", "log"), event("a4", "say", "queue")], "d": [event("d2", "say", "interrupt")]}
        ),
        Advance(3000),
    ),
    {
        "a": [("interrupt", "closing", ("a1", "a2", "a3")), ("queue", "flush", ("a4",))],
        "b": [("ask", "flush", ("b1", "b2", "b3"))],
        "c": [("note", "continuous", ("c1",)), ("queue", "forced", ("c2", "c3"))],
        "d": [("interrupt", "flush", ("d2",))],
    },
    [("d1",)],
)


def crash_suite(make: MakeStore) -> list[Case]:
    """One scope's life with a crash at each commit. `make` as for the conformance suites."""
    return _cases(ONE_SCOPE, make)


def multi_scope_crash_suite(make: MakeStore) -> list[Case]:
    """The lives of several scopes, whose commits join, with a crash at each commit."""
    return _cases(SEVERAL_SCOPES, make)


def _cases(life: Life, make: MakeStore) -> list[Case]:
    cases = [Case("the script comes to what it is meant to", lambda: life.straight(make))]
    return cases + [
        Case(f"a crash {crash} any commit changes no decision", _run(life, make, crash)) for crash in Crash
    ]


def _run(life: Life, make: MakeStore, crash: Crash) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await life.crashed(make, crash)

    return run
