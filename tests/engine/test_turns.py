"""Lanes that nothing stops: no scope keeps a slot, no judge is asked without end, no sleeper is waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from attend.app import Attend
from attend.core.types import Decision, Judgment, Lane
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.engine.world import flush_server, logged, running, until
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]


class Panic(BaseException):
    """What extension modules raise when they are beyond help."""


@pytest.mark.parametrize("kind", [asyncio.CancelledError, Panic])
async def test_a_call_that_ends_as_if_cancelled_is_a_failure(
    new_store: NewStore, kind: type[BaseException]
) -> None:
    calls: Counter[str] = Counter()

    async def judge(input: JudgeInput) -> Judgment:
        calls[input.scope] += 1
        if input.scope == "judge":
            raise kind
        return await rule(input)

    async def sink(decision: Decision) -> None:
        calls[f"sink {decision.scope}"] += 1
        if decision.scope == "sink":
            raise kind

    app = Attend(
        store=new_store(), kind={"u": "flush"}, judge=judge, sink=sink, settle={"retry_backoff_ms": (10, 10)}
    )
    async with running(app):
        for scope in ("judge", "sink", "ok"):
            await app.push(scope, [{"name": "u"}])

        async def dead(scope: str) -> list[str]:
            state = await app.engine.state(scope)
            return [] if state is None else [letter.message for letter in state.dead]

        for scope in ("judge", "sink"):
            while not (messages := await dead(scope)):
                assert calls.total() < 20
                await asyncio.sleep(0.02)
            assert messages == [kind.__name__]
        await until(lambda: calls["sink ok"] == 1)
    assert calls == {"judge": 3, "sink": 1, "sink sink": 3, "ok": 1, "sink ok": 1}


async def test_scopes_that_always_have_more_take_turns_with_the_others(new_store: NewStore) -> None:
    judged: Counter[str] = Counter()

    async def judge(input: JudgeInput) -> Judgment:
        judged[input.scope] += 1
        await asyncio.sleep(0.02)
        return await rule(input)

    app = Attend(store=new_store(), kind={"u": "flush"}, judge=judge, slots=2)
    async with running(app):
        names = [f"s{n}" for n in range(4)]

        async def keep_busy(scope: str) -> None:
            while True:
                await app.push(scope, [{"name": "u"}])
                await asyncio.sleep(0.01)

        busy = [asyncio.create_task(keep_busy(name)) for name in names]
        try:
            await until(lambda: all(judged[name] for name in names), seconds=20)
        finally:
            for each in busy:
                each.cancel()
            await asyncio.gather(*busy, return_exceptions=True)


async def test_a_judge_that_will_not_be_cancelled_keeps_no_slot_past_its_lease(new_store: NewStore) -> None:
    over = asyncio.Event()

    async def judge(input: JudgeInput) -> Judgment:
        while input.scope == "stubborn" and not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()
        return await rule(input)

    app = Attend(
        store=new_store(), kind={"u": "flush"}, judge=judge, slots=1, settle={"judge_timeout_ms": 100}
    )
    async with running(app):
        await app.push("stubborn", [{"name": "u"}])
        await app.push("other", [{"name": "u"}])
        try:
            for _ in range(1000):
                if await logged(app.store):
                    break
                await asyncio.sleep(0.02)
        finally:
            over.set()
        assert "other" in {row.scope for row in await logged(app.store)}


async def test_a_listener_on_a_dead_link_costs_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocking call whose connection is gone without a word returns late, or not at all."""
    store = MemoryStore()

    async def sleep(lanes: Sequence[Lane], timeout_ms: int) -> Lane | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(store, "sleep", sleep)
    async with running(Attend(store=store, kind={"u": "flush"})) as app:
        for n in range(2):
            await asyncio.sleep(0.1)
            started = asyncio.get_running_loop().time()
            await app.push(f"s{n}", [{"name": "u"}])
            while len(await logged(store)) == n:
                assert asyncio.get_running_loop().time() - started < 3
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("key", ["due:settle", "wake:settle"])
async def test_lanes_outlive_a_shared_key_of_another_type(
    valkey: Server, anyio_backend: str, key: str
) -> None:
    flush_server(valkey)
    store = RedisStore(valkey.url)
    async with running(Attend(store=store, kind={"u": "flush"})) as app:
        await app.push("a", [{"name": "u"}])
        for n in range(1, 1000):
            if await logged(store):
                break
            await asyncio.sleep(n / 1000)
        with plain_client(valkey.url) as client:
            client.delete(f"attend:{{default}}:{key}")
            client.set(f"attend:{{default}}:{key}", "somebody's")
            await asyncio.sleep(1.5)
            client.delete(f"attend:{{default}}:{key}")
        await app.push("b", [{"name": "u"}])
        for _ in range(1000):
            if len(await logged(store)) == 2:
                break
            await asyncio.sleep(0.02)
        assert {row.scope for row in await logged(store)} == {"a", "b"}
