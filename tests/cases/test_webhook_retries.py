"""A receiver can tell a retry from a new decision: same id, same body, until it has said yes once.

The failure this is about: https://github.com/documenso/documenso/issues/3204
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.core.types import window_id
from attend.sinks.webhook import webhook
from attend.store.base import ScopeStore
from attend.testing.crash import CrashingStore
from tests.engine.conftest import new_store
from tests.engine.world import running, until
from tests.judges.fakes.server import Answer, Exchange, FakeServer

__all__ = ["new_store"]

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SETTLE = {"retry_backoff_ms": (50, 50, 50), "delivery_timeout_ms": 1000}
EVENT = {"id": "e1", "name": "u", "text": "hello"}


def app_of(store: ScopeStore, url: str) -> Attend:
    return Attend(store=store, kind={"u": "flush"}, sink=webhook(url, SECRET), settle=SETTLE)


async def at_rest(app: Attend, scope: str = "s") -> None:
    """Wait until nothing of a scope is on its way."""
    for _ in range(3000):
        state = await app.engine.state(scope)
        if state is not None and state.slot is None and not state.outbox:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to rest")


def alike(requests: list[Exchange]) -> None:
    """Every attempt is about the one decision, in header and body."""
    id = window_id("s", ["e1"])
    assert {each.headers["webhook-id"] for each in requests} == {id}
    assert {each.json["id"] for each in requests} == {id}
    assert len({each.body for each in requests}) == 1


async def test_a_retry_after_an_error_is_the_same_and_the_last(new_store: NewStore) -> None:
    async with FakeServer(lambda exchange: Answer(200)).running() as server:
        server.answers(Answer(500))
        async with running(app_of(new_store(), server.url)) as app:
            await app.push("s", [EVENT])
            await at_rest(app)
            await asyncio.sleep(1.5)
            assert len(server.requests) == 2
        alike(server.requests)


async def test_a_retry_after_a_hang_past_the_lease_is_the_same_and_the_last(new_store: NewStore) -> None:
    async with FakeServer(lambda exchange: Answer(200)).running() as server:
        # It has stored the decision by then, and its answer never comes.
        server.answers(Answer(hangs=True))
        async with running(app_of(new_store(), server.url)) as app:
            await app.push("s", [EVENT])
            await at_rest(app)
            await asyncio.sleep(1.5)
            assert len(server.requests) == 2
        alike(server.requests)


async def test_a_delivery_whose_commit_was_lost_in_a_crash_is_the_same_again(new_store: NewStore) -> None:
    crashing = CrashingStore(new_store())

    def take(exchange: Exchange) -> Answer:
        # The process that delivers dies with the answer on its way.
        crashing.gone = True
        return Answer(200)

    async with FakeServer(take).running() as server:
        await crashing.open()
        async with running(app_of(crashing, server.url)) as app:
            await app.push("s", [EVENT])
            await until(lambda: len(server.requests) == 1)
        async with running(app_of(new_store(), server.url)) as app:
            await at_rest(app)
            assert len(server.requests) == 2
        alike(server.requests)


async def test_two_scopes_with_the_same_event_ids_make_two_decisions(new_store: NewStore) -> None:
    async with FakeServer(lambda exchange: Answer(200)).running() as server:
        async with running(app_of(new_store(), server.url)) as app:
            await app.push("s", [EVENT])
            await app.push("t", [EVENT])
            await until(lambda: len(server.requests) == 2)
        assert {each.headers["webhook-id"] for each in server.requests} == {
            window_id("s", ["e1"]),
            window_id("t", ["e1"]),
        }
