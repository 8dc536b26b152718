"""A table over (principal, thing): what lies outside a principal's scopes changes nothing that it can see.

Two servers hold the same within the principals' scopes. On one of them that is all there is; the other holds much
more in scopes that no principal here may see. Everything is asked of both, as everybody, and must come to the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec import Struct

from attend import Attend
from attend.api import Server
from attend.core.types import Route
from attend.principal import Right
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.redis import RedisStore
from tests import servers
from tests.api.conftest import KINDS, Serve
from tests.api.people import BOTH, INGEST, READ, People, token_of
from tests.api.rows import decide
from tests.api.things import ABOUT, THINGS, Names
from tests.api.wire import Wire, wire

pytestmark = pytest.mark.anyio

PEOPLE: dict[str, tuple[frozenset[Right], tuple[str, ...]]] = {
    "ops": (BOTH, ("ops/",)),
    "shop": (READ, ("shop/", "ops/db")),
    "sender": (INGEST, ("ops/",)),
}
HIDDEN = "secret/vault"
SCOPES = ("ops/db", "shop/till", HIDDEN, "unknown/scope")


class World(Struct):
    """A server, and its decisions by the label that stands for each in what is compared."""

    app: Attend
    server: Server
    decisions: dict[str, str] = {}


@pytest.fixture(params=["memory", "valkey"])
async def worlds(
    request: pytest.FixtureRequest, tmp_path: Path, served: Serve, anyio_backend: str
) -> AsyncGenerator[tuple[World, World]]:
    """The one with nothing hidden, and the one with much."""
    people = People(tmp_path)
    for name, (rights, scopes) in PEOPLE.items():
        people.put(name, rights, *scopes)
    async with AsyncExitStack() as stack:
        made: list[World] = []
        for prefix in ("bare", "full"):
            store: ScopeStore = MemoryStore()
            if request.param == "valkey":
                server: servers.Server = request.getfixturevalue("valkey")
                with servers.plain_client(server.url) as client:
                    for key in client.scan_iter(f"attend:{{{prefix}}}:*"):
                        client.delete(key)
                store = RedisStore(server.url, prefix=prefix)
            app = Attend(store=store, kind=KINDS)
            options = {"principals": str(people.path), "heartbeat_ms": 150, "ack_after_ms": 40}
            made.append(World(*await stack.enter_async_context(served(app=app, run=False, **options))))
        yield made[0], made[1]


async def fill(world: World, *, hidden: bool) -> None:
    """The same within the principals' scopes; with `hidden` much more beside it, before, between and after."""
    store = world.app.store

    async def beside(count: int) -> None:
        for _ in range(count if hidden else 0):
            await decide(store, HIDDEN, confidence=0.9, notice="the vault is open")

    await beside(3)
    for n in range(3):
        for scope, route in (
            ("ops/db", Route.INTERRUPT),
            ("shop/till", Route.NOTE),
            ("ops/api", Route.QUEUE),
        ):
            id = await decide(store, scope, route=route, confidence=0.1 * n)
            world.decisions[id] = f"{scope} {n}"
            await beside(2)
    await beside(700)
    for scope in ("ops/db", *((HIDDEN,) if hidden else ()), "shop/till"):
        for n, name in enumerate(("run.failed", "app.failing", "approval.requested", "log.line")):
            data = {"run": "r", "app": "a", "approval": "p", "for": list(PEOPLE), "name": scope}
            await world.app.push(scope, [{"id": f"first {n}", "name": name, "text": "one", "data": data}])
            await world.app.push(scope, [{"id": "first", "name": "log.line", "text": "one"}])


async def start_of(client: Wire) -> tuple[str, str]:
    """A cursor of the log and one of the attention feed, from now; for who may not read, none that is any."""
    page = await client.post("events/poll", {"name": "attention.decision", "cursor": None})
    if page.status_code != 200:
        return "x", "x"
    return page.json()["result"]["cursor"], (await client.tool("list_attention"))["cursor"]


def shown(world: World, found: object) -> str:
    """What was seen, with what differs from one run to another by itself put in one form."""
    text = json.dumps(found, default=str)
    for id, label in world.decisions.items():
        text = text.replace(id, label)
    text = re.sub(r"\b1[78]\d{11}\b", "instant", text)
    text = re.sub(r"[\w-]{100,}(\.[0-9a-f]+)?", lambda found: f"cursor of {len(found[0])}", text)
    text = re.sub(r"\be\d+\b", "event", text)  # the id of an event that `decide` made
    return re.sub(r'\\"id\\":\d+', "request", text)


@pytest.mark.parametrize("who", PEOPLE)
async def test_nobody_learns_of_what_is_outside_its_scopes(worlds: tuple[World, World], who: str) -> None:
    bare, full = worlds
    starts: list[tuple[str, str]] = []
    async with AsyncExitStack() as stack:
        clients: list[Wire] = [
            await stack.enter_async_context(wire(world.server.url(), token_of(who))) for world in worlds
        ]
        for client, world in zip(clients, worlds, strict=True):
            starts.append(await start_of(client))
            await fill(world, hidden=world is full)
        vault = await decide(full.app.store, HIDDEN, notice="the vault is open")
        for ask in THINGS:
            for scope in SCOPES if ask in ABOUT else SCOPES[:1]:
                answers: list[str] = []
                for client, world, (cursor, since) in zip(clients, worlds, starts, strict=True):
                    mine = next(
                        (id for id, label in world.decisions.items() if label.startswith(scope)), vault
                    )
                    names = Names(who, scope, mine, cursor, since, world.server.url())
                    answers.append(shown(world, await THINGS[ask](client, names)))
                assert answers[1] == answers[0], f"{who} asks {ask} about {scope}"
                assert "vault is open" not in answers[1]
    assert bare.decisions


async def test_everything_that_is_served_is_in_the_table(worlds: tuple[World, World]) -> None:
    async with wire(worlds[0].server.url(), token_of("ops")) as client:
        tools = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
    assert set(tools) <= set(THINGS)
