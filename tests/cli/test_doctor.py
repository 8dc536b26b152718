"""`attend doctor`: what it finds in a damaged store, what it says to do, and what its repair leaves behind."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from attend import Attend, RedisStore
from attend.core.types import Decision
from tests.cli.conftest import KINDS
from tests.cli.test_serve import attend
from tests.rig.reader import until
from tests.rig.service import Service
from tests.rig.tool import line, start
from tests.servers import Server, plain_client

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

BASE = "attend:{default}:"


@asynccontextmanager
async def app_on(server: Server, *, run: bool = False) -> AsyncGenerator[Attend]:
    """An app on a server, with a sink that takes everything."""

    async def take(decision: Decision) -> None:
        del decision

    async with Attend(
        store=RedisStore(server.url), kind={"user.*": "flush", "look": "passive"}, sink=take
    ) as app:
        if not run:
            yield app
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.run)
            yield app
            tasks.cancel_scope.cancel()


async def decided(app: Attend, *ids: str, scope: str = "s") -> None:
    """Decisions, made and delivered."""
    for id in ids:
        await app.push(scope, [{"name": "user.said", "id": id}])

        async def taken() -> bool:
            state = await app.engine.state(scope)
            return state is not None and state.slot is None and not state.outbox and not state.open.events

        await until(taken)


def doctor(server: Server, *flags: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Its exit code, and what it found by check."""
    ran = attend("doctor", "--store", server.url, "--json", *flags)
    assert ran.stderr == "", ran.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for row in ran.stdout.splitlines():
        finding = json.loads(row)
        found.setdefault(finding["check"], []).append(finding)
    return ran.returncode, found


def texts(found: dict[str, list[dict[str, Any]]], check: str) -> str:
    """What was said of a check."""
    return "\n".join(finding["text"] for finding in found.get(check, []))


def problems(found: dict[str, list[dict[str, Any]]]) -> set[str]:
    """The checks that found something to do."""
    every = [finding for findings in found.values() for finding in findings]
    assert all(finding["advice"] for finding in every if finding["level"] == "problem")
    return {each["check"] for each in every if each["level"] == "problem" and not each.get("repaired")}


@pytest.fixture
def durable(new_server: Callable[..., Server]) -> Server:
    """A server as its operator should run it."""
    return new_server("--appendonly", "yes", "--appendfsync", "everysec")


async def test_a_store_that_is_well_is_left_as_it_was(durable: Server) -> None:
    async with app_on(durable, run=True) as app:
        await decided(app, "a", "b")
        await app.push("open", [{"name": "look", "id": "c"}])
    with plain_client(durable.url) as redis:
        before = {key: redis.dump(key) for key in redis.keys("*")}
        code, found = doctor(durable)
        assert (code, problems(found)) == (0, set())
        assert {key: redis.dump(key) for key in redis.keys("*")} == before
    assert "appendfsync everysec" in texts(found, "persistence")
    assert "2 decisions in the log" in texts(found, "windows")
    assert found["commit"][0]["level"] == "ok"


async def test_a_server_that_evicts_or_forgets_is_a_finding(new_server: Callable[..., Server]) -> None:
    server = new_server("--maxmemory-policy", "allkeys-lru", "--maxmemory", "64mb")
    code, found = doctor(server)
    assert code == 1
    assert {"eviction", "persistence"} <= problems(found)
    assert "allkeys-lru" in texts(found, "eviction")
    assert "noeviction" in found["eviction"][0]["advice"]
    assert "nothing is stored" in texts(found, "scopes")
    shown = attend("doctor", "--store", server.url)
    assert shown.returncode == 1
    assert "problem   eviction" in shown.stdout
    assert "-> CONFIG SET maxmemory-policy noeviction" in shown.stdout


async def test_orphans_are_found_and_taken_away(durable: Server) -> None:
    async with app_on(durable, run=True) as app:
        await decided(app, "a", "b")
        await app.push("gone", [{"name": "look", "id": "c"}])
        await app.push("undue", [{"name": "look", "id": "d"}])
        with plain_client(durable.url) as redis:
            redis.delete(f"{BASE}s:gone", f"{BASE}t:gone")
            redis.zrem(f"{BASE}due:settle", "undue")
            redis.zrem(f"{BASE}scopes", "s")
            redis.zadd(f"{BASE}due:bury", {"nobody": 9e12})
            [first] = redis.xrange(f"{BASE}log", count=1)
            redis.xdel(f"{BASE}log", first[0])
            redis.hset(f"{BASE}meta", "trimmed", 1)
            redis.hset(f"{BASE}w:dead", mapping={"win": b"x"})
            code, found = doctor(durable)
            assert code == 1
            assert problems(found) >= {"due entries", "scopes", "windows"}
            assert "gone, nobody" in texts(found, "due entries")
            assert "undue" in texts(found, "due entries")
            assert "2 that neither the log nor a scope refers to" in texts(found, "windows")
            code, found = doctor(durable, "--repair")
            assert (code, problems(found)) == (0, set())
            assert redis.zscore(f"{BASE}due:bury", "nobody") is None
            assert redis.zscore(f"{BASE}scopes", "s") is not None
            assert redis.exists(f"{BASE}w:dead") == 0
        code, found = doctor(durable)
        assert (code, problems(found)) == (0, set())
        # What was made due again is judged.
        await decided(app, scope="undue")

        async def judged() -> bool:
            state = await app.engine.state("undue")
            return state is not None and bool(state.recent)

        await until(judged)


async def test_a_lost_scope_begins_again_with_a_gap_and_its_windows_are_let_go(durable: Server) -> None:
    async def never(decision: Decision) -> None:
        raise RuntimeError(decision.id)

    async with Attend(store=RedisStore(durable.url), kind={"user.*": "flush"}, sink=never) as app:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.run)
            await app.push("s", [{"name": "user.said", "id": "a"}])

            async def waits() -> bool:
                state = await app.engine.state("s")
                return state is not None and bool(state.outbox)

            await until(waits)
            tasks.cancel_scope.cancel()
        await app.push("other", [{"name": "log", "id": "b"}])
    with plain_client(durable.url) as redis:
        assert redis.delete(f"{BASE}t:s")
        redis.set(f"{BASE}s:bad", "not ours")
        code, found = doctor(durable)
        assert code == 1
        assert "1 lost" in texts(found, "scopes")
        assert "bad" in texts(found, "scopes")
        assert "1 kept for an outbox or a dead letter that is gone" in texts(found, "windows")
        code, found = doctor(durable, "--repair")
        assert code == 1  # Nobody but its owner can say what the key of another type is.
        assert problems(found) == {"scopes"}
        redis.delete(f"{BASE}s:bad")
        redis.zrem(f"{BASE}scopes", "bad")
        code, found = doctor(durable)
        assert (code, problems(found)) == (0, set())
    async with app_on(durable) as app:
        state = await app.engine.state("s")
        assert state is not None
        assert (state.open.gap, state.outbox) == (True, ())
        assert await app.push("s", [{"name": "log", "id": "c"}])


async def test_work_that_nobody_comes_for_is_a_finding(durable: Server) -> None:
    async with app_on(durable) as app:
        await app.push("s", [{"name": "user.said", "id": "a"}])
    with plain_client(durable.url) as redis:
        redis.zincrby(f"{BASE}due:settle", -60_000, "s")
        code, found = doctor(durable)
    assert (code, problems(found)) == (1, {"workers"})
    assert "settle lane" in texts(found, "workers")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    ran = attend("doctor", "--store", "redis://:s3cret@127.0.0.1:1")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "s3cret" not in ran.stderr
    ran = attend("doctor", ATTEND_DATA=str(tmp_path))
    assert ran.returncode == 3
    assert "is attend serve running?" in ran.stderr
    for flags in (
        ["--store", "memory"],
        ["--store", "x://"],
        ["--store", "redis://h", "--data", str(tmp_path)],
    ):
        ran = attend("doctor", *flags)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr


def test_a_store_at_work_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    data, file = str(tmp_path / "data"), tmp_path / "f"
    flags = ("--data", data, "--port", "0", "--sink", "log", "--retain", "100", "--kinds", KINDS)
    file.write_bytes(
        b"".join(line(f"s/{n % 900}", f"e{n}", ("look", "user.said")[n % 2]) for n in range(30_000))
    )
    service = Service("serve", *flags, log=tmp_path / "log").wait_ready()
    try:
        pushing = start("push", str(file), "--url", service.url)
        for _ in range(3):
            ran = attend("doctor", "--data", data)
            found = [row for row in ran.stdout.splitlines() if row.startswith("problem")]
            assert [row for row in found if "workers" not in row and "latency" not in row] == [], ran.stdout
        out, err = pushing.communicate(timeout=200)
        assert pushing.returncode == 0, err
        assert b"30000 accepted" in out
    finally:
        service.kill()
