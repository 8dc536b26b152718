"""`subscriptions/listen` for lists: a caller hears that what `events/list` or `tools/list` says to it has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.people import BOTH, READ, People, token_of
from tests.api.wire import META, wire

pytestmark = pytest.mark.anyio

TAG = f"{META}subscriptionId"


async def tools_of(client: Any) -> set[str]:
    return {each["name"] for each in (await client.result("tools/list"))["tools"]}


@pytest.mark.parametrize("id", [5, "s-5"])
async def test_a_caller_that_becomes_unknown_hears_that_its_events_changed(
    served: Serve, tmp_path: Path, id: int | str
) -> None:
    people = People(tmp_path)
    people.put("ana", READ, "")
    people.put("bo", READ, "")
    async with (
        served(run=False, principals=str(people.path)) as (_, server),
        wire(server.url(), token_of("ana")) as ana,
        wire(server.url(), token_of("bo")) as bo,
        ana.listen(id=id, eventsListChanged=True) as frames,
        bo.listen(eventsListChanged=True) as others,
    ):
        told = {"notifications": {"eventsListChanged": True}, "_meta": {TAG: id}}
        assert await frames.next() == ("acknowledged", told)
        await others.next("acknowledged")
        people.drop("ana")
        assert await frames.next() == ("list_changed", {"_meta": {TAG: id}})
        assert (await frames.next())[0] == "result"
        assert (await ana.post("events/list")).status_code == 401
        people.drop("bo")
        # What changed for one was no change for the other, who hears of its own alone.
        assert [(await others.next())[0] for _ in range(2)] == ["list_changed", "result"]


async def test_a_caller_with_another_right_hears_that_its_tools_changed(
    served: Serve, tmp_path: Path
) -> None:
    people = People(tmp_path)
    people.put("ana", READ, "")
    async with (
        served(run=False, principals=str(people.path)) as (_, server),
        wire(server.url(), token_of("ana")) as ana,
        ana.listen(eventsListChanged=True, toolsListChanged=True) as frames,
    ):
        await frames.next("acknowledged")
        before = await tools_of(ana)
        people.put("ana", BOTH, "")
        assert await frames.next() == ("list_changed", {"_meta": {TAG: 7}})
        assert await tools_of(ana) - before == {"attend_push"}
        people.drop("ana")
        # Both lists are gone now; each is said once.
        assert [(await frames.next())[0] for _ in range(3)] == ["list_changed", "list_changed", "result"]


async def test_what_was_not_asked_for_is_neither_echoed_nor_told(served: Serve, tmp_path: Path) -> None:
    people = People(tmp_path)
    people.put("ana", READ, "")
    async with (
        served(run=False, principals=str(people.path)) as (_, server),
        wire(server.url(), token_of("ana")) as ana,
        ana.listen(eventsListChanged=False) as frames,
    ):
        assert (await frames.next())[1]["notifications"] == {}
        people.drop("ana")
        assert (await frames.next())[0] == "result"


async def test_a_filter_holds_true_or_false(served: Serve) -> None:
    async with served(run=False) as (_, server), wire(server.url()) as client:
        asked = {"notifications": {"eventsListChanged": "yes"}}
        error = await client.error("subscriptions/listen", asked)
        assert error["code"] == -32602
        assert "eventsListChanged" in error["message"]
