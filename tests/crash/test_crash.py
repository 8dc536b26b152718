"""One scripted life of several scopes, then again with a crash at each of its commits: the same decisions each time.

The rules: effects only after a committed write; at least once per decision id, in order per scope; nothing
accepted is lost; a commit whose reply was lost is not applied twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from itertools import count

import fakeredis
import pytest

from attend.core.input import Ended, Flushed
from attend.core.rules import Rules
from attend.core.types import Event, Judgment, Kind, Route
from attend.errors import PermanentError
from attend.judges.base import JudgeInput
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from attend.testing.crash import Crash
from attend.testing.harness import Act, Advance, Harness, Outcome, Push, Request
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(280)]

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


SCRIPT: tuple[Act, ...] = (
    Push({"a": [event("a1", "log"), event("a2", "done", "interrupt")], "b": [event("b1", "log")]}),
    Advance(200),
    Push({"a": [event("a3", "log")], "b": [event("b2", "done", "wait")], "c": [event("c1", "type", "note")]}),
    Advance(1500),
    Push({"b": [event("b3", "say", "ask")], "c": [event("c2", "out"), event("c3", "log")]}),
    Advance(0),
    Request("c", Flushed("flush-1")),
    Push({"d": [event("d1", "done", "refuse")], "e": [event("e1", "done", "skip")]}),
    Request("e", Ended("end-1")),
    Advance(800),
    Push({"a": [event("a1", "log"), event("a4", "say", "queue")], "d": [event("d2", "say", "interrupt")]}),
    Advance(3000),
)

MakeStore = Callable[[], ScopeStore]


@pytest.fixture(params=["memory", "valkey", "redis_server", "fakeredis"])
async def make_store(request: pytest.FixtureRequest) -> AsyncIterator[MakeStore]:
    """Makes empty stores of one kind."""
    made: list[RedisStore] = []
    numbers = count()

    def make() -> ScopeStore:
        if request.param == "memory":
            return MemoryStore()
        if request.param == "fakeredis":
            client = fakeredis.FakeAsyncRedis(server=fakeredis.FakeServer())
            store = RedisStore("redis://fake", prefix="crash", client=client)
        else:
            server: Server = request.getfixturevalue(request.param)
            store = RedisStore(server.url, prefix=f"crash{next(numbers)}-{id(made)}")
        made.append(store)
        return store

    yield make
    for store in made:
        await store.close()


async def live(store: ScopeStore, at: int | None, crash: Crash) -> Outcome:
    """The script, once."""
    await store.open()
    return await Harness(store, RULES, judge, at=at, crash=crash).run(SCRIPT)


def told(outcome: Outcome) -> dict[str, list[tuple[str, Route]]]:
    """Each scope's decisions in order."""
    scopes: dict[str, list[tuple[str, Route]]] = defaultdict(list)
    for decision in outcome.decisions:
        scopes[decision.scope].append((decision.id, decision.route))
    return scopes


async def test_the_script_says_what_it_is_meant_to(make_store: MakeStore) -> None:
    outcome = await live(make_store(), None, Crash.BEFORE)
    by_scope: dict[str, list[tuple[str, str, tuple[str, ...]]]] = defaultdict(list)
    for decision in outcome.decisions:
        by_scope[decision.scope].append((decision.route, decision.reason, decision.event_ids))
    assert by_scope == {
        "a": [("interrupt", "closing", ("a1", "a2", "a3")), ("queue", "flush", ("a4",))],
        "b": [("ask", "flush", ("b1", "b2", "b3"))],
        "c": [("note", "continuous", ("c1",)), ("queue", "forced", ("c2", "c3"))],
        "d": [("interrupt", "flush", ("d2",))],
    }
    assert [letter.window.event_ids for letter in outcome.buried] == [("d1",)]
    assert [letter.message for letter in outcome.buried] == ["it was refused"]
    assert sorted(decision.id for decision in outcome.delivered) == sorted(
        decision.id for decision in outcome.decisions
    )


@pytest.mark.parametrize("crash", list(Crash))
async def test_a_crash_at_any_commit_changes_no_decision(make_store: MakeStore, crash: Crash) -> None:
    straight = await live(make_store(), None, crash)
    crashed = 0
    for at in range(1, straight.commits + 1):
        outcome = await live(make_store(), at, crash)
        crashed += outcome.crashed
        assert told(outcome) == told(straight), f"crashed {crash} commit {at}"
        ids = [decision.id for decision in outcome.decisions]
        assert len(set(ids)) == len(ids)
        # Handlers may be called again for what they had when the process died, with the same id.
        assert {each.id for each in outcome.delivered} == set(ids)
        assert {each.id for each in outcome.buried} == {each.id for each in straight.buried}
    if crash is not Crash.REPLY_LOST:
        assert crashed > straight.commits / 2
