"""Faults of Redis, or of how it is used, that users of such systems reported."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from attend import Attend
from attend.api import ApiSettings, serve
from attend.core.types import Judgment
from attend.judges.base import JudgeInput
from attend.store.redis import RedisStore
from tests.api.rows import decide
from tests.api.wire import Wire, wire
from tests.rig.reader import until
from tests.servers import Server, plain_client

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


def line(scope: str, id: str, name: str) -> bytes:
    return json.dumps({"scope": scope, "id": id, "name": name}).encode()


@asynccontextmanager
async def served(app: Attend, **settings: Any) -> AsyncGenerator[Wire]:
    """An app, served and running; a client of it."""
    server = serve(app, ApiSettings(**settings), port=0)
    try:
        await server.ready()
        async with wire(server.url()) as client:
            yield client
    finally:
        await server.close()
        await app.close()


async def test_a_full_server_costs_no_window_and_is_no_fault_of_the_judge(
    new_server: Callable[..., Server],
) -> None:
    """Writes that reschedule jobs were refused for want of memory, and the jobs never came back."""
    server = new_server()
    begun: Counter[str] = Counter()
    go_on = asyncio.Event()

    async def judge(asked: JudgeInput) -> Judgment:
        begun[asked.window.scope] += 1
        await go_on.wait()
        return Judgment("interrupt")

    app = Attend(
        store=RedisStore(server.url),
        kind={"say": "flush", "done": "closing"},
        judge=judge,
        patience_ms=700,
        settle={"closing_grace_ms": 6000},
    )
    open_scopes = [f"open/{n}" for n in range(20)]
    judged = [f"judged/{n}" for n in range(5)]
    async with served(app) as client:
        cursor = (await client.poll(None))["cursor"]
        lines = [line(scope, f"{scope}-a", "done") for scope in open_scopes]
        lines += [line(scope, f"{scope}-a", "say") for scope in judged]
        assert (await client.ingest(b"\n".join(lines))).json()["accepted"] == 25
        await until(lambda: set(begun) == set(judged))
        with plain_client(server.url) as admin:
            admin.config_set("maxmemory", "1mb")
            body = b"\n".join(line(scope, f"{scope}-b", "log") for scope in open_scopes)
            refused = await client.ingest(body)
            assert refused.status_code == 503, refused.text
            assert int(refused.headers["retry-after"]) >= 1
            assert "accepted" not in refused.json()
            go_on.set()  # Five verdicts that cannot be committed now, and 20 windows that settle meanwhile.
            await anyio.sleep(7)
            admin.config_set("maxmemory", "0")

        async def taken() -> dict[str, Any]:
            answer = await client.ingest(body)
            assert answer.status_code in (200, 503)
            return answer.json() if answer.status_code == 200 else {}

        reply: dict[str, Any] = {}
        while not reply:
            reply = await taken()
        assert (reply["accepted"], reply["duplicates"], reply["rejected"]) == (20, 0, [])
        found: list[dict[str, Any]] = []

        async def all_decided() -> bool:
            found[:], _ = await client.drain(cursor)
            return {event["data"]["scope"] for event in found} == {*open_scopes, *judged}

        await until(all_decided)
        await anyio.sleep(1)
        assert await all_decided()
        decided = Counter(each for event in found for each in event["data"]["eventIds"])
        assert all(decided[f"{scope}-a"] == 1 for scope in (*open_scopes, *judged))
        assert max(decided.values()) == 1
        for scope in (*open_scopes, *judged):
            state = await app.engine.state(scope)
            assert state is not None
            assert (state.dead, state.slot) == ((), None)
        # A verdict is kept until it can be committed: nobody was asked for it twice.
        assert all(begun[scope] == 1 for scope in judged)


async def test_an_idle_reader_outlives_the_socket_timeout(
    new_server: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    """A blocking read longer than the socket timeout raised, and ended the loop that read."""
    server = new_server()
    store = RedisStore(server.url, timeout_ms=1000)
    with caplog.at_level(logging.WARNING):
        async with served(Attend(store=store), heartbeat_ms=500) as client, client.stream() as frames:
            cursor = (await client.poll(None))["cursor"]
            waited: list[dict[str, Any]] = []
            made: list[str] = []

            async def wait() -> None:
                waited.append(await client.tool("attend_wait", cursor=cursor, waitSeconds=40))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await anyio.sleep(2)
                with plain_client(server.url) as admin:
                    clients: list[int] = []
                    met: list[int] = []
                    for _ in range(6):
                        await anyio.sleep(1)
                        clients.append(len(admin.client_list()))
                        met.append(admin.info("stats")["total_connections_received"])
                    assert max(clients) - min(clients) <= 1
                    assert met[-1] == met[0], "it connected again and again"
                assert not waited
                made.append(await decide(store))
                [event] = await frames.events(1)
                assert event["eventId"] == made[0]
            assert [each["decisionId"] for each in waited[0]["decisions"]] == made
    assert [record.getMessage() for record in caplog.records] == []
