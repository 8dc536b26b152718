"""Principals: a file of hashes that is read again while it serves, and rights that end what is open."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from attend import Attend
from attend.api import ApiSettings, serve
from attend.errors import ConfigError
from attend.principals import Principals
from tests.api.conftest import Serve
from tests.api.people import BOTH, INGEST, READ, People, token_of
from tests.api.rows import decide
from tests.api.test_auth import ask
from tests.api.wire import EVENT, Wire, wire
from tests.rig.lines_open import open_lines
from tests.rig.reader import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def people(tmp_path: Path) -> People:
    """A file with one principal, who may read and send in ops/."""
    made = People(tmp_path)
    made.put("ops", BOTH, "ops/")
    return made


async def met(client: Wire, wanted: int) -> None:
    """Wait until the server answers a token with this status."""

    async def answered() -> bool:
        return (await client.ingest(b"")).status_code == wanted

    await until(answered, seconds=20)


async def test_a_principal_reads_and_sends_only_in_its_scopes(served: Serve, people: People) -> None:
    async with (
        served(principals=str(people.path), run=False) as (app, server),
        wire(server.url(), token_of("ops")) as client,
    ):
        start = (await client.poll(None))["cursor"]
        await decide(app.store, "shop/1")
        mine = await decide(app.store, "ops/1")
        events, _ = await client.drain(start)
        assert [event["eventId"] for event in events] == [mine]
        reply = await client.ingest(b'{"scope":"ops/1","name":"n"}\n{"scope":"shop/1","name":"n"}')
        assert reply.json()["accepted"] == 1
        assert [line["error"] for line in reply.json()["rejected"]] == ["forbidden"]


async def test_a_right_that_is_missing_is_403_and_its_tools_are_not_there(
    served: Serve, people: People
) -> None:
    people.put("reader", READ, "ops/")
    people.put("sender", INGEST, "ops/")
    async with served(principals=str(people.path), run=False) as (_, server):
        async with wire(server.url(), token_of("reader")) as client:
            assert (await client.ingest(b"{}")).status_code == 403
            names = {tool["name"] for tool in (await client.result("tools/list"))["tools"]}
            assert names >= {"attend_wait", "attend_window", "attend_ack"}
            assert "attend_push" not in names
            pushed = await client.result(
                "tools/call",
                {"name": "attend_push", "arguments": {"scope": "ops/1", "events": [{"name": "agent.said"}]}},
            )
            assert pushed["isError"]
        async with wire(server.url(), token_of("sender")) as client:
            assert (await client.ingest(b"{}")).status_code == 200
            assert (await client.post("events/list")).status_code == 403
            for path in ("/v1/scopes/ops%2F1", "/v1/decisions/x/explain"):
                assert (await client.client.get(path)).status_code == 403


@pytest.mark.parametrize(
    "values",
    [
        [],
        [b"Bearer caf\xe9"],
        [b"Bearer"],
        [b"Bearer sha256:00"],
        [b"Bearer tok-ops-s3cret", b"Bearer tok-ops-s3cret"],
        [b"Bearer " + b"x" * 65_536],
    ],
)
async def test_what_is_no_token_of_anybody_is_401(served: Serve, people: People, values: list[bytes]) -> None:
    async with served(principals=str(people.path), run=False) as (_, server):
        for method, path in (("POST", "/v1/ingest"), ("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/nowhere")):
            headers = [(b"authorization", value) for value in values]
            assert (await ask(server.url(), method, path, *headers))[0] == 401
        good = (b"authorization", b"bEARER tok-ops-s3cret")
        assert (await ask(server.url(), "POST", "/v1/ingest", good))[0] == 200


async def test_the_token_of_the_command_line_is_one_beside_them_with_every_right(
    served: Serve, people: People
) -> None:
    async with served(principals=str(people.path), token="whole", run=False) as (_, server):
        async with wire(server.url(), "whole") as client:
            reply = await client.ingest(b'{"scope":"any/where","name":"n"}')
            assert reply.json()["accepted"] == 1
            assert (await client.client.get("/v1/scopes/any%2Fwhere")).status_code == 200
        async with wire(server.url(), token_of("ops")) as client:
            assert (await client.client.get("/v1/scopes/any%2Fwhere")).status_code == 404


async def test_the_file_is_read_again_when_it_changes(
    served: Serve, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        served(principals=str(people.path), run=False) as (_, server),
        wire(server.url(), token_of("late")) as late,
        wire(server.url(), token_of("ops")) as ops,
    ):
        assert (await late.ingest(b"")).status_code == 401
        people.put("late", INGEST, "")
        await met(late, 200)
        with caplog.at_level(logging.ERROR, "attend"):
            people.write("[[principal]]\nname = 'ops'\n")
            await until(lambda: "stay as they were" in caplog.text)
            people.path.unlink()
            await until(lambda: "No such file" in caplog.text)
            await anyio.sleep(1.2)
        assert caplog.text.count("stay as they were") == 2
        assert "s3cret" not in caplog.text
        for client in (late, ops):
            assert (await client.ingest(b"")).status_code == 200
        people.drop("late")
        await met(late, 401)
        people.write("")
        await met(ops, 401)


async def test_a_file_that_is_just_being_saved_takes_nothing_from_anybody(people: People) -> None:
    principals = Principals(None, str(people.path))
    ops = principals.find(token_of("ops").encode())
    assert ops is not None
    text = people.path.read_text(encoding="utf-8")
    with people.path.open("w", encoding="utf-8") as file:
        principals.look()
        assert principals.reads("ops", ops.scopes)
        file.write(text)
    principals.look()
    assert principals.reads("ops", ops.scopes)
    people.write("")
    principals.look()
    principals.look()
    assert not principals.reads("ops", ops.scopes)


async def test_a_right_that_is_withdrawn_ends_what_is_open(served: Serve, people: People) -> None:
    people.put("other", BOTH, "ops/")
    ended: dict[str, Any] = {}
    async with (
        served(principals=str(people.path), run=False, heartbeat_ms=60_000) as (app, server),
        wire(server.url(), token_of("ops")) as client,
        wire(server.url(), token_of("other")) as stays,
    ):
        cursor = (await client.poll(None))["cursor"]

        async def wait() -> None:
            ended["wait"] = await client.result(
                "tools/call", {"name": "attend_wait", "arguments": {"waitSeconds": 45}}
            )

        async def poll() -> None:
            params: dict[str, Any] = {"name": EVENT, "arguments": {}, "cursor": cursor, "timeoutMs": 25_000}
            ended["poll"] = (await client.post("events/poll", params)).text

        async with stays.stream() as others, client.stream() as frames:
            assert (await frames.next())[0] == (await others.next())[0] == "active"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                tasks.start_soon(poll)
                tasks.start_soon(_lines, server.url(), ended)
                await until(lambda: app.feed.waiting >= 4 and "acked" in ended)
                people.drop("ops")
                with anyio.fail_after(20):
                    kind, params = await frames.next()
                assert (kind, params["error"]["code"]) == ("terminated", -32024)
                assert (await frames.next())[0] == "result"
            made = await decide(app.store, "ops/1")
            assert [event["eventId"] for event in await others.events(1)] == [made]
        assert ended["wait"]["isError"]
        assert "-32024" in ended["poll"]
        assert (ended["lines"]["error"], ended["lines"]["ack"]) == ("forbidden", 1)


async def _lines(url: str, ended: dict[str, Any]) -> None:
    """An ingest stream that sends one line and stays open."""
    async with open_lines(url, f"authorization: Bearer {token_of('ops')}") as stream:
        await stream.send(b'{"scope":"ops/1","name":"n"}\n')
        await stream.ack(1)
        ended["acked"] = True
        ended["lines"] = await stream.error()
        assert await stream.frame() is None


async def test_a_narrower_right_ends_a_stream_and_a_wider_one_does_not(served: Serve, people: People) -> None:
    async with (
        served(principals=str(people.path), run=False, heartbeat_ms=60_000) as (app, server),
        wire(server.url(), token_of("ops")) as client,
        client.stream() as frames,
    ):
        assert (await frames.next())[0] == "active"
        people.put("ops", BOTH, "ops/", "shop/")

        async def taken() -> bool:
            return not (await client.ingest(b'{"scope":"shop/1","name":"n"}')).json()["rejected"]

        await until(taken)
        made = await decide(app.store, "ops/1")
        assert [event["eventId"] for event in await frames.events(1)] == [made]
        people.put("ops", BOTH, "ops/1", "shop/")
        assert (await frames.next(seconds=20))[0] == "terminated"
        async with client.stream() as again:
            assert (await again.next())[0] == "active"
            await decide(app.store, "ops/2")
            mine = await decide(app.store, "ops/11")
            assert [event["eventId"] for event in await again.events(1)] == [mine]


async def test_another_address_than_loopback_may_be_served_to_principals(people: People) -> None:
    app = Attend()
    with pytest.raises(ConfigError, match="principals"):
        serve(app, host="0.0.0.0", port=0)
    settings = ApiSettings(principals=str(people.path), hosts=("127.0.0.1",))
    server = serve(app, settings, host="0.0.0.0", port=0)
    try:
        await server.ready()
        url = server.url().replace("0.0.0.0", "127.0.0.1")
        async with httpx.AsyncClient(base_url=url) as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.post("/v1/ingest")).status_code == 401
    finally:
        await server.close()
        await app.close()


async def test_a_file_that_is_wrong_at_the_start_is_refused(people: People) -> None:
    people.write("[[principal]]\nname = 'ops'\n")
    with pytest.raises(ConfigError, match="hash: it must be sha256"):
        serve(Attend(), ApiSettings(principals=str(people.path)), port=0)
    with pytest.raises(ConfigError, match="No such file"):
        serve(Attend(), ApiSettings(principals="/nowhere.toml"), port=0)


async def test_a_server_whose_file_names_nobody_lets_nobody_in(served: Serve, people: People) -> None:
    people.write("")
    async with served(principals=str(people.path), run=False) as (_, server), wire(server.url()) as client:
        assert (await client.ingest(b"")).status_code == 401
