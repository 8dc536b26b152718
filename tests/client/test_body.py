"""A body is sent until every line of it was taken or turned down, and no line is taken twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attend.client import Client, Rejected
from attend.client.naming import line_of, with_id
from attend.errors import AnswerError, UnreachableError
from tests.rig.scripted import Says, scripted

pytestmark = pytest.mark.anyio

LINES = [b'{"scope":"s","id":"a","name":"n"}', b"", b'{"scope":"s","id":"b","name":"n"}']
TAKEN = Says(body={"accepted": 2, "duplicates": 0, "rejected": []})
SOON = {"retryAfterMs": 1}


def busy(status: int, error: str) -> Says:
    """Turned away for now."""
    return Says(status, {"error": error, "message": "later", **SOON})


def rejected(line: int, error: str, **more: Any) -> dict[str, Any]:
    """A line as an ingest reply lists it."""
    return {"line": line, "error": error, "message": "no", **more}


@pytest.mark.parametrize(
    "first",
    [
        busy(429, "busy"),
        busy(503, "unavailable"),
        busy(429, "outbox_full"),
        Says(503, b"<html>no</html>", {"retry-after": "0"}),
        Says(502, b"bad gateway"),
        Says(cut=True),
    ],
)
async def test_what_was_turned_away_is_sent_again_as_it_was(first: Says) -> None:
    async with scripted(first, TAKEN) as server, Client(server.url) as client:
        reply = await client.ingest(LINES)
    assert (reply.accepted, reply.duplicates, reply.rejected) == (2, 0, [])
    assert server.bodies[0] == server.bodies[1] == LINES[0] + b"\n" + LINES[2]
    assert reply.resent == (0 if first.status == 429 else 2)


async def test_a_line_without_an_id_gets_one_once() -> None:
    async with scripted(Says(cut=True), TAKEN) as server, Client(server.url) as client:
        await client.ingest(['{"scope":"s","name":"n","data":1.10}', {"scope": "s", "flush": True}])
    assert server.bodies[0] == server.bodies[1]
    event, flush = server.bodies[0].split(b"\n")
    assert json.loads(event).keys() == {"id", "scope", "name", "data"}
    assert b"1.10" in event
    assert json.loads(flush)["id"]


async def test_only_the_lines_that_may_be_taken_later_are_sent_again_under_their_numbers() -> None:
    first = Says(
        body={
            "accepted": 0,
            "duplicates": 0,
            "rejected": [rejected(1, "outbox_full", **SOON), rejected(2, "bad_name")],
        }
    )
    second = Says(
        body={
            "accepted": 0,
            "duplicates": 1,
            "rejected": [],
            "conflicts": [{"line": 1, "scope": "s", "id": "a"}],
        }
    )
    async with scripted(first, second) as server, Client(server.url) as client:
        reply = await client.ingest(LINES)
    assert server.bodies[1] == LINES[0]
    assert [(each.line, each.error) for each in reply.rejected] == [(3, "bad_name")]
    assert [each.line for each in reply.conflicts] == [1]
    assert reply.duplicates == 1


async def test_a_line_that_is_never_taken_is_rejected_once_patience_is_at_its_end() -> None:
    full = Says(
        body={"accepted": 1, "duplicates": 0, "rejected": [rejected(1, "outbox_full", retryAfterMs=50)]}
    )
    none = Says(
        body={"accepted": 0, "duplicates": 0, "rejected": [rejected(1, "outbox_full", retryAfterMs=50)]}
    )
    async with scripted(full, none) as server, Client(server.url, patience=0.3) as client:
        reply = await client.ingest(LINES)
    assert reply.accepted == 1
    assert [(each.line, each.error) for each in reply.rejected] == [(1, "outbox_full")]
    full = Says(429, {"error": "outbox_full", "message": "full", "retryAfterMs": 50})
    async with scripted(full) as server, Client(server.url, patience=0.3) as client:
        reply = await client.ingest(LINES)
    assert [each.line for each in reply.rejected] == [1, 3]


async def test_a_body_that_is_too_large_is_sent_in_parts() -> None:
    large = Says(413, {"error": "body_too_large", "message": "too large"})
    one = Says(body={"accepted": 1, "duplicates": 0, "rejected": []})
    async with scripted(large, one) as server, Client(server.url) as client:
        assert (await client.ingest(LINES)).accepted == 2
    assert server.bodies[1:] == [LINES[0], LINES[2]]
    async with scripted(large) as server, Client(server.url) as client:
        assert (await client.ingest(LINES)).rejected == [
            Rejected(1, "body_too_large", "too large"),
            Rejected(3, "body_too_large", "too large"),
        ]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 415, 421])
async def test_what_is_turned_down_for_good_is_an_error_at_once(status: int) -> None:
    says = Says(status, {"error": "some_code", "message": "why"})
    async with scripted(says) as server, Client(server.url) as client:
        with pytest.raises(AnswerError, match=f"{status} some_code: why") as caught:
            await client.ingest(LINES)
    assert (caught.value.status, caught.value.code) == (status, "some_code")
    assert len(server.bodies) == 1


async def test_an_answer_of_something_else_is_an_error() -> None:
    for body in (b"<html>welcome</html>", b'{"rejected":[{"line":7,"error":"e","message":"m"}]}'):
        async with scripted(Says(body=body)) as server, Client(server.url) as client:
            with pytest.raises(AnswerError, match="no attend answers"):
                await client.ingest(LINES)


async def test_a_server_that_stays_away_ends_the_patience() -> None:
    said: list[str] = []
    async with scripted(Says(cut=True)) as server, Client(server.url, patience=0.6) as client:
        body = client.body(LINES, on_wait=lambda why, wait: said.append(why))
        with pytest.raises(UnreachableError, match=r"nothing taken for about 0\.6 s"):
            await body.send()
        assert body.waiting == [1, 3]
    assert said
    assert server.url in said[0]


async def test_nothing_to_send_is_sent_nowhere() -> None:
    async with Client("http://127.0.0.1:1") as client:
        assert (await client.ingest([b" ", "\n", "\r"])).accepted == 0


@pytest.mark.parametrize(
    ("line", "same"),
    [
        (b'{"id":"x","scope":"s"}', True),
        (b"not json", True),
        (b"[1]", True),
        (b'{"id":7}', True),
        (b"\xff\xfe", True),
        (b'{"a":' * 2000, True),
        (b"{}", False),
        (b' { "scope" : "s" , "data":{"id":"inner"}}', False),
        (b'{"id":null,"data":1.50}', False),
    ],
)
def test_an_id_is_given_where_there_is_none(line: bytes, same: bool) -> None:
    named = with_id(line)
    if same:
        assert named == line
        return
    value = json.loads(named)
    assert value.pop("id")
    before = json.loads(line)
    before.pop("id", None)
    assert value == before
    assert with_id(named) == named


def test_a_line_is_one_line() -> None:
    assert line_of("a\n") == b"a"
    with pytest.raises(ValueError, match="line break"):
        line_of("a\nb")
