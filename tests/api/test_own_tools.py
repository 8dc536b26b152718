"""`attend_ack` and `attend_push`, and interrupts that come up again until somebody takes them."""

from __future__ import annotations

import time
from typing import Any

import anyio
import msgspec
import pytest

from attend import Attend
from attend.core.types import Kind, Route
from attend.store.base import ScopeStore
from tests.api.conftest import Serve
from tests.api.people import BOTH, READ, People, token_of
from tests.api.rows import decide
from tests.api.wire import Wire, wire
from tests.rig.reader import until

pytestmark = pytest.mark.anyio

AGAIN_MS = 700


def now() -> int:
    return int(time.time() * 1000)


async def refused(client: Wire, name: str, **arguments: Any) -> str:
    """What a tool says to arguments that it cannot take."""
    result = await client.result("tools/call", {"name": name, "arguments": arguments})
    assert result["isError"]
    text: str = result["content"][0]["text"]
    return text


async def heard(client: Wire, cursor: str, seconds: float, **more: Any) -> tuple[list[dict[str, Any]], str]:
    """What `attend_wait` brings in some seconds, called in a loop; and where to go on."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        answer = await client.tool("attend_wait", cursor=cursor, waitSeconds=round(left, 2), **more)
        found += answer["decisions"]
        cursor = answer["cursor"]
    return found, cursor


async def start(client: Wire) -> str:
    """A cursor from now."""
    cursor: str = (await client.tool("attend_wait", waitSeconds=0))["cursor"]
    return cursor


async def test_acknowledging_again_changes_nothing(store: ScopeStore, served: Serve) -> None:
    async with served(store, run=False) as (app, server), wire(server.url()) as client:
        made = await decide(store)
        first = await client.tool("attend_ack", decisionId=made)
        assert (first["decisionId"], first["acknowledgedAt"] <= app.clock.now()) == (made, True)
        await anyio.sleep(0.01)
        assert await client.tool("attend_ack", decisionId=made) == first
        assert "unknown" in await refused(client, "attend_ack", decisionId="nothing")


async def test_an_interrupt_that_nobody_took_comes_up_again_so_often(
    store: ScopeStore, served: Serve
) -> None:
    async with (
        served(store, run=False, ack_after_ms=AGAIN_MS, ack_times=2) as (_, server),
        wire(server.url()) as client,
    ):
        cursor = await start(client)
        made = await decide(store, decided_at=now())
        await decide(store, route=Route.QUEUE, decided_at=now())
        found, _ = await heard(client, cursor, 3.5 * AGAIN_MS / 1000)
        assert [each["route"] for each in found] == ["interrupt", "queue", "interrupt", "interrupt"]
        mine = [each for each in found if each["decisionId"] == made]
        assert [each.get("reminder") for each in mine] == [None, 1, 2]
        first, second, _ = ({**each, "reminder": 0} for each in mine)
        assert first == second


async def test_once_anybody_took_it_it_does_not_come_up_any_more(
    store: ScopeStore, served: Serve, people: People
) -> None:
    async with (
        served(store, run=False, ack_after_ms=AGAIN_MS, principals=str(people.path)) as (_, server),
        wire(server.url(), token_of("ops")) as client,
        wire(server.url(), token_of("other")) as other,
        wire(server.url(), token_of("shop")) as shop,
    ):
        cursor, elsewhere = await start(client), await start(shop)
        made = await decide(store, "ops/1", decided_at=now())
        kept = await decide(store, "ops/2", decided_at=now())
        await other.tool("attend_ack", decisionId=made)
        assert "not yours" in await refused(shop, "attend_ack", decisionId=kept)
        found, _ = await heard(client, cursor, 1.5 * AGAIN_MS / 1000)
        assert [each["decisionId"] for each in found] == [made, kept, kept]
        assert (await heard(shop, elsewhere, 0.2))[0] == []


async def test_who_was_away_hears_it_for_the_first_time_before_it_comes_up_again(
    store: ScopeStore, served: Serve
) -> None:
    async with (
        served(store, run=False, ack_after_ms=AGAIN_MS) as (_, server),
        wire(server.url()) as client,
    ):
        cursor = await start(client)
        at = now()
        made = [await decide(store, decided_at=at + n) for n in range(3)]
        await anyio.sleep(1.3 * AGAIN_MS / 1000)
        answer = await client.tool("attend_wait", cursor=cursor, max=2, waitSeconds=0)
        assert [each["decisionId"] for each in answer["decisions"]] == made[:2]
        assert answer["hasMore"]
        answer = await client.tool("attend_wait", cursor=answer["cursor"], max=2, waitSeconds=0)
        assert [(each["decisionId"], each.get("reminder")) for each in answer["decisions"]] == [
            (made[0], 1),
            (made[2], None),
        ]
        assert answer["hasMore"]
        answer = await client.tool("attend_wait", cursor=answer["cursor"], max=2, waitSeconds=0)
        assert (made[1], 1) in [(each["decisionId"], each["reminder"]) for each in answer["decisions"]]
        page = await client.poll(answer["cursor"])
        assert (page["events"], page["truncated"]) == ([], False)


async def test_a_process_that_starts_later_brings_up_what_was_decided_before(
    store: ScopeStore, served: Serve
) -> None:
    made = await decide(store, decided_at=now())
    async with (
        served(store, run=False, ack_after_ms=AGAIN_MS) as (_, server),
        wire(server.url()) as client,
    ):
        answer = await client.tool("attend_wait", waitSeconds=10)
        assert [(each["decisionId"], each["reminder"]) for each in answer["decisions"]] == [(made, 1)]


async def test_without_the_setting_nothing_comes_up_again(store: ScopeStore, served: Serve) -> None:
    async with served(store, run=False) as (_, server), wire(server.url()) as client:
        cursor = await start(client)
        assert "." not in cursor
        await decide(store, decided_at=now() - 300_000)
        found, _ = await heard(client, cursor, 0.5)
        assert [each.get("reminder") for each in found] == [None]


async def test_what_an_agent_did_is_context_and_wakes_nobody(store: ScopeStore, served: Serve) -> None:
    async with served(store) as (app, server), wire(server.url()) as client:
        events = [
            {"name": "agent.said", "id": "1", "text": "looking into it"},
            {"name": "log.line", "data": {"n": 10**30}},
        ]
        assert await client.tool("attend_push", scope="s", events=events) == {"accepted": 2, "duplicates": 0}
        assert await client.tool("attend_push", scope="s", events=events[:1]) == {
            "accepted": 0,
            "duplicates": 1,
        }
        state = await app.engine.state("s")
        assert state is not None
        first, second = state.open.events
        assert (first.kind, first.text, second.kind) == (Kind.CONTEXT, "looking into it", Kind.CONTEXT)
        assert second.data_json == b'{"n":1000000000000000000000000000000}'
        assert state.open.acts == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"scope": "s", "events": [{"name": "agent.said"}, {"name": "user.said"}]},
            "events[1]: user.said is",
        ),
        ({"scope": "s", "events": []}, "events"),
        ({"scope": "", "events": [{"name": "n"}]}, "scope"),
        ({"scope": "s", "events": [{"name": "n", "kind": "flush"}]}, "kind"),
        ({"scope": "s", "events": [{"name": "n", "text": "x" * 70_000}]}, "larger than"),
    ],
)
async def test_what_cannot_be_pushed_is_said_and_nothing_is_taken(
    served: Serve, arguments: dict[str, Any], words: str
) -> None:
    async with served(run=False) as (app, server), wire(server.url()) as client:
        assert words in await refused(client, "attend_push", **arguments)
        assert await app.engine.state("s") is None


async def test_an_agent_pushes_only_where_it_may_and_as_fast_as_it_may(served: Serve, people: People) -> None:
    async with (
        served(run=False, principals=str(people.path), rate=2) as (_, server),
        wire(server.url(), token_of("ops")) as client,
    ):
        event = {"name": "agent.said"}
        assert "may not send to this scope" in await refused(
            client, "attend_push", scope="shop/1", events=[event]
        )
        await client.tool("attend_push", scope="ops/1", events=[event] * 5)
        assert "faster than you may" in await refused(client, "attend_push", scope="ops/1", events=[event])


async def test_who_did_what_is_on_record(store: ScopeStore, served: Serve, people: People) -> None:
    async with served(store, run=False, principals=str(people.path)) as (app, server):
        made = await decide(store, "ops/1")
        async with wire(server.url(), token_of("ops")) as client:
            cursor = await start(client)
            for _ in range(5):
                await client.poll(cursor)
            async with client.stream() as frames:
                await frames.next()
            await client.ingest(b'{"scope":"ops/1","name":"n","text":"s3cret words"}\n{"scope":"shop/1"}')
            await client.tool("attend_ack", decisionId=made)
            await client.tool("attend_push", scope="ops/1", events=[{"name": "agent.said", "text": "s3cret"}])
        async with wire(server.url(), token_of("reader")) as client:
            await client.poll(cursor)
        await until(lambda: _count(store, 5), seconds=20)
        rows = await _rows(store)
        assert [(row["principal"], row["act"]) for row in rows] == [
            ("ops", "wait"),
            ("ops", "ingest"),
            ("ops", "ack"),
            ("ops", "push"),
            ("reader", "poll"),
        ]
        assert (rows[1]["accepted"], rows[1]["rejected"]) == (1, 1)
        assert rows[2]["decisionId"] == made
        assert "s3cret" not in str(rows)
        # A token that reads has a row in ten minutes, whichever process it asks.
        again = Attend(store=store)
        async with served(app=again, run=False, principals=str(people.path)) as (_, other):
            async with wire(other.url(), token_of("reader")) as client:
                await client.poll(cursor)
                await client.ingest(b"")
            await anyio.sleep(0.3)
        assert len(await _rows(store)) == 5
        assert app


async def _rows(store: ScopeStore) -> list[dict[str, Any]]:
    return [msgspec.json.decode(record.row) for record in await store.records.read("", 99)]


async def _count(store: ScopeStore, wanted: int) -> bool:
    return len(await _rows(store)) >= wanted


@pytest.fixture
def people(tmp_path: Any) -> People:
    """Two who may do everything in ops/, one who may read there, and one who may do everything in shop/."""
    made = People(tmp_path)
    made.put("ops", BOTH, "ops/")
    made.put("other", BOTH, "ops/")
    made.put("reader", READ, "ops/")
    made.put("shop", BOTH, "shop/")
    return made
