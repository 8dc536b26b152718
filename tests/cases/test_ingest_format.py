"""Faults of reading lines that users of such systems reported, each against a real serve.

Whatever comes in, the three counts add up to the lines that are not blank, nothing is answered with 500, and every
byte that goes out again is strict JSON in UTF-8.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tests.api.wire import EVENT, Wire, wire
from tests.rig.reader import until
from tests.rig.strict import strict, strict_answer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

MARK = b"\xef\xbb\xbf"


def line(scope: str, id: str, **more: Any) -> bytes:
    return json.dumps({"scope": scope, "id": id, "name": "n", **more}, ensure_ascii=False).encode()


async def post(client: Wire, body: bytes | AsyncGenerator[bytes], lines: int) -> dict[str, Any]:
    """One body of so many lines that are not blank; its reply."""
    answer = await client.client.post("/v1/ingest", content=body)
    assert answer.status_code == 200, answer.text
    reply: dict[str, Any] = strict_answer(answer)
    assert reply["accepted"] + reply["duplicates"] + len(reply["rejected"]) == lines
    return reply


def rejected(reply: dict[str, Any]) -> list[tuple[int, str]]:
    return [(each["line"], each["error"]) for each in reply["rejected"]]


async def window(client: Wire, scope: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Flush a scope; its decision and the events of its window, with every byte on the way read strictly."""
    cursor = (await client.poll(None))["cursor"]
    strict_answer(await client.client.get(f"/v1/scopes/{scope}"))
    await post(client, b'{"scope":"%s","flush":true}' % scope.encode(), 1)
    found: list[dict[str, Any]] = []

    async def decided() -> bool:
        params = {"name": EVENT, "arguments": {"scope": scope}, "cursor": cursor, "timeoutMs": 5000}
        page = strict_answer(await client.post("events/poll", params))["result"]
        found[:] = page["events"]
        return bool(found)

    await until(decided)
    async with client.stream(cursor, {"scope": scope}) as frames:
        [streamed] = await frames.events(1)
    assert streamed["data"] == found[0]["data"]
    params = {"name": "attend_window", "arguments": {"decisionId": found[0]["eventId"]}}
    result = strict_answer(await client.post("tools/call", params))["result"]
    events: list[dict[str, Any]] = strict(result["content"][0]["text"].encode())["events"]
    assert result["structuredContent"]["events"] == events
    return found[0], events


async def test_a_byte_order_mark_costs_no_line(url: str) -> None:
    """The first record vanished, with a success status and no word in the log."""
    async with wire(url) as client:
        reply = await post(client, MARK + line("mark", "a") + b"\n" + line("mark", "b") + b"\n", 2)
        assert (reply["accepted"], reply["rejected"]) == (2, [])
        reply = await post(client, line("mark", "c") + b"\n" + MARK + line("mark", "d"), 2)
        assert (reply["accepted"], rejected(reply)) == (1, [(2, "bad_json")])
        _, events = await window(client, "mark")
    assert [event["id"] for event in events] == ["a", "b", "c"]


async def test_a_last_line_without_a_newline_is_a_line(url: str) -> None:
    """A body without a final newline was refused as a whole."""
    async with wire(url) as client:
        lines = [line("end", id) for id in ("a1", "a2", "a3")]
        assert (await post(client, b"\n".join(lines), 3))["accepted"] == 3
        cut = b"\n".join([line("end", "b1"), line("end", "b2"), b'{"scope":"end","id":"b3"'])
        reply = await post(client, cut, 3)
        assert (reply["accepted"], rejected(reply)) == (2, [(3, "bad_json")])
        whole = b"\n".join(line("end", id) for id in ("c1", "c2", "c3")) + b"\n"
        host = httpx.URL(url)
        _, writer = await asyncio.open_connection(host.host, host.port)
        head = f"POST /v1/ingest HTTP/1.1\r\nhost: {host.host}\r\ncontent-length: {len(whole)}\r\n\r\n"
        writer.write(head.encode() + whole[: len(whole) - 20])
        await writer.drain()
        await asyncio.sleep(0.3)
        writer.transport.abort()
        reply = await post(client, whole, 3)
        assert reply["accepted"] + reply["duplicates"] == 3
        _, events = await window(client, "end")
    assert [event["id"] for event in events] == ["a1", "a2", "a3", "b1", "b2", "c1", "c2", "c3"]


async def test_separators_of_unicode_end_no_line(url: str) -> None:
    """Splitting by Python's rules cut a record in two wherever a string held one of its line ends."""
    text = "a\u2028b\u2029c\u0085d\x1ce"
    async with wire(url) as client:
        body = line("sep", "a", text=text)
        assert b"\\u001c" in body
        assert "\u2028".encode() in body
        assert (await post(client, body, 1))["accepted"] == 1
        decision, events = await window(client, "sep")
    assert events[0]["text"] == text
    assert text in decision["data"]["notice"]


async def test_numbers_that_no_json_has_do_not_get_in(url: str) -> None:
    """They were taken from clients and stored, and later output was no longer JSON."""
    values = ["NaN", "Infinity", "-Infinity", "1e999"]
    async with wire(url) as client:
        lines = [b'{"scope":"num","name":"n","data":{"v":%s}}' % value.encode() for value in values]
        reply = await post(client, b"\n".join([*lines, line("num", "good", data={"v": 1.5})]), 5)
        assert (reply["accepted"], rejected(reply)) == (1, [(n, "bad_json") for n in range(1, 5)])
        _, events = await window(client, "num")
    assert [event["data"] for event in events] == [{"v": 1.5}]


async def test_nesting_has_one_limit_and_costs_no_neighbour(url: str) -> None:
    """Nested brackets raised a recursion error, so the client got a 500 that it would take for the server's fault."""
    async with wire(url) as client:
        lines: list[bytes] = []
        for depth in (50, 900, 1100, 20_000, 200_000):
            lines.append(b'{"scope":"deep","name":"n","data":%s}' % (b"[" * depth + b"]" * depth))
            lines.append(line("deep", f"after-{depth}"))
        reply = await post(client, b"\n".join(lines), 10)
        assert reply["accepted"] == 6
        assert rejected(reply) == [(n, "too_deep") for n in (3, 5, 7, 9)]
        unclosed = await post(client, b"[" * 200_000 + b"\n" + line("deep", "last"), 2)
        assert (unclosed["accepted"], len(unclosed["rejected"])) == (1, 1)
        assert (await client.client.get("/readyz")).status_code == 200
        _, events = await window(client, "deep")
    assert len(events) == 7


async def test_what_is_not_utf8_does_not_spoil_what_is_read_later(url: str) -> None:
    """One line with the bytes FF FE was stored as it was, and made a whole reply undecodable later."""
    async with wire(url) as client:
        bad = b'{"scope":"bytes","id":"b","name":"n","text":"\xff\xfe"}'
        reply = await post(client, b"\n".join([line("bytes", "a"), bad, line("bytes", "c")]), 3)
        assert (reply["accepted"], rejected(reply)) == (2, [(2, "bad_utf8")])
        body = line("bytes", "d", text="\U0001f600\u00e9")
        cut = body.index("\U0001f600".encode()) + 2

        async def halves() -> AsyncGenerator[bytes]:
            yield body[:cut]
            await asyncio.sleep(0.2)
            yield body[cut:]

        assert (await post(client, halves(), 1))["accepted"] == 1
        _, events = await window(client, "bytes")
    assert [event["id"] for event in events] == ["a", "c", "d"]
    assert events[-1]["text"] == "\U0001f600\u00e9"
