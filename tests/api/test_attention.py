"""The attention feed over MCP: `list_attention`, the resource of each person, subscriptions to it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from attend.principal import Principal, Right, block, hash_of
from attend.store.base import ScopeStore
from tests.api.conftest import Serve
from tests.api.wire import Wire, wire

pytestmark = pytest.mark.anyio

PEOPLE = {"ana": ("shop/", "bank/"), "bo": ("shop/",), "cy": ("bank/",)}


@pytest.fixture
def principals(tmp_path: Path) -> Path:
    """Three people, whose tokens are their names, and who see different scopes."""
    path = tmp_path / "principals.toml"
    path.write_text(
        "\n".join(
            block(Principal(name, frozenset({Right.READ}), scopes, hash=hash_of(name.encode())))
            for name, scopes in PEOPLE.items()
        )
    )
    return path


@asynccontextmanager
async def people(
    served: Serve, store: ScopeStore, principals: Path, **settings: Any
) -> AsyncGenerator[dict[str, Wire]]:
    """A client of each person, and `all` with the deployment's own token."""
    given = {"token": "all", "principals": str(principals), **settings}
    async with served(store, **given) as (_, server), AsyncExitStack() as stack:
        found: dict[str, Wire] = {}
        for name in ("all", *PEOPLE):
            found[name] = await stack.enter_async_context(wire(server.url(), token=name))
        yield found


async def send(client: Wire, scope: str, name: str, /, **data: Any) -> None:
    line = {"scope": scope, "name": name, "data": data, "text": "canary"}
    reply = (await client.ingest(json.dumps(line).encode())).json()
    assert reply["accepted"] == 1, reply


def subjects(items: list[dict[str, Any]]) -> list[str]:
    return [each["subject"] for each in items]


async def test_what_is_open_and_what_happened_after(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        everyone, ana = clients["all"], clients["ana"]
        await send(everyone, "shop/1", "approval.requested", approval="a1", **{"for": "ana"})
        await send(everyone, "shop/1", "app.failing", app="app_1", name="Low stock")
        first = await ana.tool("list_attention")
        assert subjects(first["open"]) == ["a1", "app_1"]
        assert first["news"] == []
        await send(everyone, "shop/1", "app.recovered", app="app_1")
        await send(everyone, "shop/1", "run.failed", run="r1", app="Low stock", error="timed_out")
        later = await ana.tool("list_attention", since=first["cursor"])
        assert [(each["news"], each.get("change")) for each in later["news"]] == [
            ("alert", "resolves"),
            ("run_failed", None),
        ]
        failed = later["news"][1]
        assert failed["message"] == (
            "A run of [Low stock] failed with timed_out (run r1) in scope [shop/1]. Use list_attention to read more."
        )
        assert "canary" not in json.dumps([first, later])
        nothing = await ana.tool("list_attention", since=later["cursor"])
        assert (nothing["news"], nothing["timedOut"]) == ([], True)
        assert subjects((await ana.tool("list_attention"))["open"]) == ["a1"]


async def test_each_sees_what_is_theirs(store: ScopeStore, served: Serve, principals: Path) -> None:
    async with people(served, store, principals) as clients:
        starts = {name: (await client.tool("list_attention"))["cursor"] for name, client in clients.items()}
        everyone = clients["all"]
        for scope in ("shop/1", "bank/1", "else/1"):
            mark = scope[:4]
            await send(everyone, scope, "run.finished", run=f"{mark} ana", startedBy="ana")
            await send(everyone, scope, "run.failed", run=f"{mark} failed", startedBy="bo")
            await send(
                everyone, scope, "approval.requested", approval=f"{mark} both", **{"for": ["bo", "cy"]}
            )
            await send(everyone, scope, "call.stopped", call=f"{mark} stopped")
        seen = {
            name: subjects((await client.tool("list_attention", since=starts[name]))["news"])
            for name, client in clients.items()
        }
        assert seen["ana"] == [
            *("shop ana", "shop failed", "shop stopped"),
            *("bank ana", "bank failed", "bank stopped"),
        ]
        assert seen["bo"] == ["shop failed", "shop both", "shop stopped"]
        assert seen["cy"] == ["bank failed", "bank both", "bank stopped"]
        assert len(seen["all"]) == 12
        opened = {name: subjects((await clients[name].tool("list_attention"))["open"]) for name in PEOPLE}
        assert opened == {"ana": [], "bo": ["shop both"], "cy": ["bank both"]}


async def test_a_wait_ends_with_news_of_ones_own_and_no_other(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        cursor = (await clients["bo"].tool("list_attention"))["cursor"]
        answers: list[dict[str, Any]] = []

        async def wait() -> None:
            answers.append(await clients["bo"].tool("list_attention", since=cursor, waitSeconds=15))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.sleep(0.3)
            await send(clients["all"], "bank/1", "run.failed", run="hidden")
            await send(clients["all"], "shop/1", "run.failed", run="mine")
        assert subjects(answers[0]["news"]) == ["mine"]


async def test_a_wait_without_news_times_out(store: ScopeStore, served: Serve) -> None:
    async with served(store) as (_, server), wire(server.url()) as client:
        cursor = (await client.tool("list_attention"))["cursor"]
        answer = await client.tool("list_attention", since=cursor, waitSeconds=0.2)
        assert (answer["timedOut"], answer["truncated"]) == (True, False)
        wrong = await client.result(
            "tools/call", {"name": "list_attention", "arguments": {"waitSeconds": 16}}
        )
        assert wrong["isError"]


@pytest.mark.parametrize("cursor", ["garbage", "", "AAAA", "x" * 600])
async def test_a_cursor_of_elsewhere_is_truncated(store: ScopeStore, served: Serve, cursor: str) -> None:
    async with served(store) as (_, server), wire(server.url()) as client:
        await send(client, "s", "run.failed", run="r1")
        answer = await client.tool("list_attention", since=cursor)
        assert answer["truncated"]
        assert subjects(answer["news"]) == ["r1"]
        again = await client.tool("list_attention", since=answer["cursor"])
        assert (again["truncated"], again["news"]) == (False, [])


async def test_news_that_is_gone_is_truncated(store: ScopeStore, served: Serve) -> None:
    async with served(store) as (_, server), wire(server.url()) as client:
        cursor = (await client.tool("list_attention"))["cursor"]
        for n in range(5):
            await send(client, "s", "run.failed", run=f"r{n}")
        await store.news.trim(2, 0)
        answer = await client.tool("list_attention", since=cursor)
        assert answer["truncated"]
        assert subjects(answer["news"]) == ["r3", "r4"]


async def test_more_news_than_an_answer_holds_comes_in_parts(store: ScopeStore, served: Serve) -> None:
    async with served(store) as (_, server), wire(server.url()) as client:
        cursor = (await client.tool("list_attention"))["cursor"]
        lines = [{"scope": "s", "name": "run.failed", "data": {"run": f"r{n}"}} for n in range(120)]
        await client.ingest("\n".join(map(json.dumps, lines)).encode())
        got: list[str] = []
        more = True
        while more:
            answer = await client.tool("list_attention", since=cursor)
            got += subjects(answer["news"])
            assert answer["news"][-1]["cursor"]
            cursor, more = answer["cursor"], answer["hasMore"]
        assert got == [f"r{n}" for n in range(120)]


async def test_the_resource_is_each_persons_own(store: ScopeStore, served: Serve, principals: Path) -> None:
    async with people(served, store, principals, workspace="acme/1") as clients:
        await send(clients["all"], "shop/1", "approval.requested", approval="a1", **{"for": "bo"})
        await send(clients["all"], "bank/1", "run.failed", run="r1")
        [mine] = (await clients["bo"].result("resources/list"))["resources"]
        assert mine["uri"] == "attend://workspace/acme%2F1/attention/bo"
        read = await clients["bo"].result("resources/read", {"uri": mine["uri"]})
        content = json.loads(read["contents"][0]["text"])
        assert subjects(content["open"]) == subjects(content["latest"]) == ["a1"]
        theirs = await clients["ana"].error("resources/read", {"uri": mine["uri"]})
        nothing = await clients["ana"].error("resources/read", {"uri": "attend://nothing"})
        assert theirs == nothing
        assert theirs["code"] == -32602


async def test_a_subscription_is_told_of_ones_own_news_and_nothing_of_it(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        uri = "attend://workspace/default/attention/bo"
        async with clients["bo"].listen(uri, toolsListChanged=True) as frames:
            kind, acknowledged = await frames.next()
            assert kind == "acknowledged"
            assert acknowledged["notifications"] == {"resourceSubscriptions": [uri], "toolsListChanged": True}
            await send(clients["all"], "bank/1", "run.failed", run="hidden")
            await send(clients["all"], "shop/1", "run.failed", run="mine")
            kind, told = await frames.next(seconds=10)
            assert (kind, told["uri"]) == ("updated", uri)
            assert set(told) == {"uri", "_meta"}
        discovered = (await clients["bo"].result("server/discover"))["capabilities"]
        assert discovered["tools"]["listChanged"]
        assert discovered["resources"] == {"listChanged": True, "subscribe": True}


async def test_a_subscription_may_name_only_ones_own(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        for uri in ("attend://workspace/default/attention/ana", "attend://workspace/default/attention/zed"):
            asked = {"notifications": {"resourceSubscriptions": [uri]}}
            error = await clients["bo"].error("subscriptions/listen", asked)
            assert error["code"] == -32602
            assert error["message"] == "There is no such resource, or it is not yours"


async def test_a_server_holds_so_many_subscriptions(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals, max_listeners=2) as clients:
        async with clients["ana"].listen() as one, clients["bo"].listen() as other:
            await one.next()
            await other.next()
            error = await clients["cy"].error("subscriptions/listen", {"notifications": {}})
            assert (error["code"], error["data"]) == (-32025, {"limit": "subscriptions", "max": 2})
        await opens_in_the_end(clients["cy"])


async def test_a_token_holds_so_many_subscriptions(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        async with AsyncExitStack() as stack:
            for _ in range(3):
                await (await stack.enter_async_context(clients["ana"].listen())).next()
            error = await clients["ana"].error("subscriptions/listen", {"notifications": {}})
            assert (error["code"], error["data"]) == (-32025, {"limit": "subscriptionsPerToken", "max": 3})
            async with clients["bo"].listen() as another:
                await another.next()
        await opens_in_the_end(clients["ana"])


def withdraw(principals: Path) -> None:
    """Take everybody's rights away."""
    principals.write_text("")


async def opens_in_the_end(client: Wire) -> None:
    """A place that was given back is there again, once the server has seen its holder go."""
    with anyio.fail_after(15):
        while True:
            try:
                async with client.listen() as frames:
                    await frames.next()
                    return
            except AssertionError:
                await anyio.sleep(0.05)


async def test_a_right_that_is_withdrawn_ends_a_subscription(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    uri = "attend://workspace/default/attention/bo"
    async with people(served, store, principals) as clients, clients["bo"].listen(uri) as frames:
        await frames.next("acknowledged")
        withdraw(principals)
        assert (await frames.next(seconds=15))[0] == "result"


async def test_a_server_that_stops_ends_a_subscription(served: Serve) -> None:
    async with served() as (_, server), wire(server.url()) as client, client.listen() as frames:
        await frames.next("acknowledged")
        await server.close()
        assert (await frames.next(seconds=10))[0] == "result"


async def test_the_watch_prompt(store: ScopeStore, served: Serve) -> None:
    async with served(store) as (_, server), wire(server.url()) as client:
        assert [each["name"] for each in (await client.result("prompts/list"))["prompts"]] == ["watch"]
        said = await client.result("prompts/get", {"name": "watch"})
        assert "list_attention" in said["messages"][0]["content"]["text"]


async def test_asking_again_and_again_is_one_row_on_record(
    store: ScopeStore, served: Serve, principals: Path
) -> None:
    async with people(served, store, principals) as clients:
        cursor = (await clients["bo"].tool("list_attention"))["cursor"]
        for _ in range(5):
            cursor = (await clients["bo"].tool("list_attention", since=cursor))["cursor"]
    found = [json.loads(record.row) for record in await store.records.read("", 99)]
    assert [(row["principal"], row["act"]) for row in found] == [("bo", "list_attention")]
