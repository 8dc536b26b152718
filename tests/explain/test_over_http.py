"""`GET /v1/decisions/<id>/explain` and `attend explain`, against a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from attend import Attend
from attend.api import ApiSettings, Server, serve
from attend.api.auth import Access, Principal
from attend.api.explain import Explain
from attend.cli.explain import run_explain
from attend.client import Client
from attend.core.explain import Arriving
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.engine.world import flush_server, logged, until
from tests.servers import Server as Redis

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serving(store: ScopeStore) -> AsyncGenerator[tuple[Attend, Server, str]]:
    """A server with one decision that its sink took, and the decision's id."""
    taken: list[str] = []
    app = Attend(store=store, kind={"say": "flush"}, sink=lambda decision: taken.append(decision.id))
    server = serve(app, ApiSettings(), port=0)
    try:
        await server.ready()
        await app.push("ops/db", [{"id": "1", "name": "say", "text": "\x1b[31mhelp\nme"}])
        await until(lambda: len(taken) == 1)
        # It is taken down as delivered a moment after the sink has it.
        for _ in range(3000):
            if not (await app.engine.stored("ops/db")).state.outbox:
                break
            await asyncio.sleep(0.01)
        yield app, server, taken[0]
    finally:
        await server.close()
        await app.close()


async def test_a_decision_is_explained_from_any_store(valkey: Redis) -> None:
    flush_server(valkey)
    for store in (MemoryStore(), RedisStore(valkey.url)):
        await store.open()
        async with serving(store) as (app, server, id), Client(server.url()) as client:
            found = await client.explain(id)
            assert found is not None
            [row] = await logged(app.store)
            assert (found.decision_id, found.route, found.notice) == (row.id, "interrupt", row.notice)
            assert found.logged is not None
            assert (found.logged.at, found.logged.n) == (row.decided_at, 1)
            assert found.delivery.status is Arriving.DELIVERED
            assert (found.delivery.at or 0) >= row.decided_at
            assert found.judging is not None
            assert found.judging.ms is not None
            assert await client.explain("0" * 32) is None
            assert await client.explain("../../healthz") is None
        await store.close()


async def test_what_is_unknown_or_may_not_be_seen_is_one_404() -> None:
    async with serving(MemoryStore()) as (app, server, id), httpx.AsyncClient() as client:
        for path in ("nothing", "", f"{id}", f"{id}/explain/more", "%FF/explain", "x" * 600 + "/explain"):
            answer = await client.get(f"{server.url()}/v1/decisions/{path}")
            assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path
        answer = await client.post(f"{server.url()}/v1/decisions/{id}/explain")
        assert answer.status_code == 405
        answer = await client.get(f"{server.url()}/v1/decisions/{id}/explain")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        for principal, status in (
            (Principal("one", scopes=("ops/",)), 200),
            (Principal("two", scopes=("x/",)), 404),
        ):
            sent: list[Any] = []

            async def send(message: Any, sent: list[Any] = sent) -> None:
                sent.append(message)

            async def receive() -> Any:
                raise AssertionError

            scope: Any = {
                "type": "http",
                "method": "GET",
                "path": f"/v1/decisions/{id}/explain",
                "raw_path": f"/v1/decisions/{id}/explain".encode(),
                "headers": [],
                "state": {"access": Access(principal, None, None)},
            }
            await Explain(app)(scope, receive, send)
            assert sent[0]["status"] == status


async def test_the_command_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(MemoryStore()) as (_, server, id):

        async def called(*arguments: str, as_json: bool = False) -> tuple[int, str, str]:
            code = await asyncio.to_thread(
                run_explain, arguments[0], {"url": [server.url()]}, as_json=as_json
            )
            told = capsys.readouterr()
            return code, told.out, told.err

        code, out, err = await called(id)
        assert (code, err) == (0, "")
        assert out.startswith(f"{id}  interrupt  ops/db\n")
        assert "flush: say (1) was addressed to the agent: it settles at once" in out
        assert "judged      interrupt, by rule in 0.0 s" in out
        assert "offered   interrupt, queue, note, ask, skip\n" in out
        assert "the sink took it" in out
        assert "\x1b" not in out
        code, out, _ = await called(id, as_json=True)
        assert (code, json.loads(out)["decisionId"]) == (0, id)
        assert await called("nothing") == (
            1,
            "",
            "attend: no such decision is kept, or it is not yours to see\n",
        )
