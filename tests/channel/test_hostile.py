"""What channel, resource and watch push, whatever strangers write: nobody leaves their place in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attend.api.attention import Item, item_of
from attend.cli.pushes import Pushes
from attend.cli.seen import SeenFile
from attend.cli.watch import line_of
from attend.client import Occurrence
from attend.core.effect import Announce
from attend.core.input import Pushed
from attend.core.rules import Rules
from attend.core.signals import DEFAULT_SIGNALS
from attend.core.state import ScopeState
from attend.core.step import step
from attend.core.types import Event, Kind
from tests.channel.conftest import Tell
from tests.channel.hostile import NAMES, assert_harmless, names, scopes
from tests.channel.session import Session

CANARY = "canary"
RULES = Rules()
FIELDS = (
    "run",
    "app",
    "approval",
    "automation",
    "connection",
    "call",
    "allowance",
    "name",
    "error",
    "status",
)


def items_of(scope: str, event: Event) -> list[Item]:
    """What the feed says of an event in a scope."""
    state = ScopeState(scope=scope, generation=0, digest=RULES.digest)
    effects = step(state, Pushed((event,)), 1, RULES).effects
    return [item_of(effect.news) for effect in effects if isinstance(effect, Announce)]


def event_of(name: str, id: str, given: Mapping[str, Any]) -> Event:
    data = {"percent": 95, "title": CANARY, "message": CANARY, **given}
    return Event(id, name, Kind.CONSEQUENCE, 0, json.dumps(data).encode(), f"{CANARY} in the text")


async def push(answer: dict[str, Any], path: Path) -> list[tuple[str, dict[str, str]]]:
    """What a channel pushes of one answer of the server."""
    pushed: list[tuple[str, dict[str, str]]] = []
    done = asyncio.Event()

    async def ask(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments:
            done.set()
            await asyncio.Event().wait()
        return {"structuredContent": answer}

    async def send(content: str, meta: dict[str, str]) -> None:
        pushed.append((content, meta))

    running = asyncio.create_task(Pushes(ask, send, SeenFile(path), say=print).run())
    await asyncio.wait_for(done.wait(), 30)
    running.cancel()
    await asyncio.wait([running])
    return pushed


def pushed_of(items: Any, path: Path) -> list[tuple[str, dict[str, str]]]:
    path.unlink(missing_ok=True)
    return asyncio.run(push({"open": items, "news": [], "cursor": "c"}, path))


hostile_events = st.builds(
    event_of,
    st.sampled_from(sorted(DEFAULT_SIGNALS)),
    scopes,
    st.dictionaries(st.sampled_from(FIELDS), names, max_size=len(FIELDS)),
)
calm = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@calm
@given(scopes, hostile_events)
def test_what_the_resource_says(scope: str, event: Event) -> None:
    for item in items_of(scope, event):
        found: dict[str, Any] = msgspec.to_builtins(item)
        for value in found.values():
            if isinstance(value, str):
                assert_harmless(value, 600)
        assert CANARY not in json.dumps(found)


@calm
@given(scopes, hostile_events)
def test_what_the_channel_pushes(tmp_path: Path, scope: str, event: Event) -> None:
    items = msgspec.to_builtins(items_of(scope, event))
    for content, meta in pushed_of(items, tmp_path / "seen"):
        assert_harmless(content, 600)
        for value in meta.values():
            assert_harmless(value, 200)
        assert CANARY not in content + str(meta)


@calm
@given(names, names, names, names)
def test_a_server_that_is_not_to_be_trusted_pushes_no_more(
    tmp_path: Path, message: str, name: str, id: str, scope: str
) -> None:
    item = {"id": id, "message": message, "name": name, "scope": scope, "news": name, "cursor": "c", "at": 1}
    for content, meta in pushed_of([item], tmp_path / "seen"):
        assert_harmless(content, 600)
        for value in meta.values():
            assert_harmless(value, 200)


@calm
@given(scopes, scopes, st.sampled_from(FIELDS[:7]), names, names)
def test_different_names_never_look_the_same(scope: str, other: str, field: str, one: str, two: str) -> None:
    for event in sorted(DEFAULT_SIGNALS):
        signal = DEFAULT_SIGNALS[event]
        for key in (signal.subject, signal.name or ""):
            if key != field:
                continue
            [first] = items_of(scope, event_of(event, "e", {key: one}))
            [second] = items_of(scope, event_of(event, "e", {key: two}))
            assert (first.message == second.message) == (one == two)
            [elsewhere] = items_of(other, event_of(event, "e", {key: one}))
            assert (first.message == elsewhere.message) == (scope == other)


@calm
@given(scopes, names, names)
def test_what_watch_writes(scope: str, id: str, route: str) -> None:
    data = {"scope": scope, "route": route, "reason": route, "eventCount": 3, "notice": CANARY}
    line = line_of(Occurrence(id, "", data))
    assert_harmless(line, 400)
    assert CANARY not in line


def test_a_hostile_name_over_the_real_wire(url: str, tmp_path: Path, tell: Tell) -> None:
    with Session(url, tmp_path / "seen") as session:
        session.ready()
        scopes = [name[:100] for name in NAMES if name]
        for scope in scopes:
            tell("run.failed", scope=scope, run="run_9", app=scope, error=scope)
        pushes = session.pushed(len(scopes))
        shown = {push["content"] for push in pushes}
        assert len(shown) == len(scopes)
        for push in pushes:
            assert_harmless(push["content"], 600)
            assert push["meta"]["subject"] == "run_9"
            assert push["meta"]["news"] == "run_failed"
        session.close()
        assert b"canary" not in b"".join(session.raw)
