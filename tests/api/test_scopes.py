"""`GET /v1/scopes/<scope>`: what there is in a scope, by its one percent-encoded segment."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from attend import Attend
from attend.api.auth import Access, Principal, Right
from attend.api.scopes import Scopes
from attend.core.report import Report
from attend.core.why import Status
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests.api.conftest import Serve
from tests.api.wire import wire
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio


def line(scope: str, id: str, name: str) -> bytes:
    """One event as a body."""
    return json.dumps({"scope": scope, "id": id, "name": name, "text": f"about {id}"}).encode()


async def test_it_shows_what_is_open_and_when_it_settles(served: Serve, store: ScopeStore) -> None:
    async with served(store, run=False) as (_, server), wire(server.url()) as client:
        await client.ingest(line("ops/db", "a", "build.done"))
        answer = await client.client.get("/v1/scopes/ops%2Fdb")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        found = msgspec.json.decode(answer.content, type=Report)
        assert (found.scope, found.status) in {("ops/db", Status.OPEN), ("ops/db", Status.DUE)}
        assert [event.text for event in found.open.events] == ["about a"]
        closing, age = found.deadlines
        assert (closing.reason, age.reason) == ("closing", "age")
        assert closing.at == found.open.events[0].accepted_at + 500
        assert answer.json()["open"]["firstActAt"] == found.open.first_act_at


@pytest.mark.parametrize("name", ["a b", "100%", "ä/ö?#", "..", ".", "%2F", "a//b/", "\U0001f680", "a+b&c=d"])
async def test_every_name_of_a_scope_can_be_asked_for(served: Serve, name: str) -> None:
    async with served(MemoryStore(), run=False) as (_, server), wire(server.url()) as client:
        await client.ingest(line(name, "a", "log"))
        path = quote(name, safe="").replace(".", "%2E")
        answer = await client.client.get(f"/v1/scopes/{path}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["scope"] == name


@pytest.mark.parametrize(
    "path", ["nobody", "", "/", "ops/db", "ops%2Fdb/", "%FF", "%ED%A0%80", "a%00b", "x" * 600]
)
async def test_what_is_unknown_is_one_404(served: Serve, path: str) -> None:
    async with served(MemoryStore(), run=False) as (_, server), wire(server.url()) as client:
        await client.ingest(line("ops/db", "a", "log"))
        answer = await client.client.get(f"/v1/scopes/{path}")
        assert answer.status_code == 404
        assert answer.json()["error"] == "not_found"
        unknown = await client.client.get("/v1/scopes/another")
        if path not in ("", "/"):
            assert answer.json() == unknown.json()


async def test_it_is_for_reading_and_for_those_who_may(served: Serve) -> None:
    async with served(MemoryStore(), token="t", run=False) as (_, server):
        async with wire(server.url()) as nobody:
            assert (await nobody.client.get("/v1/scopes/a")).status_code == 401
        async with wire(server.url(), "t") as client:
            assert (await client.client.post("/v1/scopes/a", content=b"{}")).status_code == 405
            assert (await client.client.get("/v1/scopes/a")).status_code == 404


async def test_a_lost_scope_says_so_and_an_unreadable_one_is_409(served: Serve, valkey: Server) -> None:
    with plain_client(valkey.url) as redis:
        redis.flushall()
        async with served(RedisStore(valkey.url), run=False) as (_, server), wire(server.url()) as client:
            for scope in ("lost", "bad"):
                for id in ("a", "b"):
                    await client.ingest(line(scope, id, "log"))
            redis.hdel("attend:{default}:s:lost", "v")
            redis.delete("attend:{default}:s:bad")
            redis.set("attend:{default}:s:bad", "not ours")
            lost = await client.client.get("/v1/scopes/lost")
            assert (lost.status_code, lost.json()["status"]) == (200, "lost")
            assert lost.json()["open"]["gap"] is True
            bad = await client.client.get("/v1/scopes/bad")
            assert (bad.status_code, bad.json()["error"]) == (409, "scope_unreadable")


async def test_what_may_not_be_seen_is_the_same_404_as_what_is_unknown() -> None:
    async with Attend(kind={}) as app:
        await app.push("ops/db", [{"name": "log", "id": "a"}])
        scopes = Scopes(app)
        reader = Principal("reader", frozenset({Right.READ}), ("shop/",))
        sender = Principal("sender", frozenset({Right.INGEST}))
        unseen = await asked(scopes, reader, b"/v1/scopes/ops%2Fdb")
        assert unseen == await asked(scopes, reader, b"/v1/scopes/shop%2Fnobody")
        assert unseen[0] == 404
        assert (await asked(scopes, sender, b"/v1/scopes/ops%2Fdb"))[0] == 403
        seen = Principal("other", frozenset({Right.READ}), ("ops/",))
        assert (await asked(scopes, seen, b"/v1/scopes/ops%2Fdb"))[0] == 200


async def asked(scopes: Scopes, principal: Principal, path: bytes) -> tuple[int, bytes]:
    """The route called as a gate would that let this principal in: its status and its body."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {
        "type": "http",
        "method": "GET",
        "raw_path": path,
        "state": {"access": Access(principal, None, None)},
    }
    await scopes(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]
