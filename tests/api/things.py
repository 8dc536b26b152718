"""Every thing that a principal can ask of a server, each as a function of a client and the names to ask about.

What is added to the API is added here: the table test then asks it as everybody, and compares.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import httpx
from msgspec import Struct, structs

from tests.api.people import token_of
from tests.api.wire import EVENT, Wire
from tests.rig.lines_open import open_lines


class Names(Struct, frozen=True):
    """What to ask about: a scope and a decision. All decisions come after `cursor`, all news after `since`."""

    who: str
    scope: str
    decision: str
    cursor: str
    since: str
    url: str


Thing = Callable[[Wire, Names], Awaitable[object]]

THINGS: dict[str, Thing] = {}
"""Each by its name. A thing returns what its asker can tell apart: statuses, bodies, frames."""

ABOUT: set[str] = set()
"""Those that are asked about each scope and its decision."""


def thing(ask: Thing) -> Thing:
    """Add one, under its function's name."""
    THINGS[getattr(ask, "__name__", str(ask))] = ask
    return ask


def about(ask: Thing) -> Thing:
    """Add one that is asked about a scope or a decision."""
    ABOUT.add(getattr(ask, "__name__", str(ask)))
    return thing(ask)


def seen(answer: httpx.Response) -> object:
    """An answer as its asker sees it."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("date", "content-length", "retry-after")
    }
    return answer.status_code, headers, answer.text


@about
async def scope(client: Wire, names: Names) -> object:
    return seen(await client.client.get(f"/v1/scopes/{quote(names.scope, safe='')}"))


@about
async def explain(client: Wire, names: Names) -> object:
    return seen(await client.client.get(f"/v1/decisions/{quote(names.decision, safe='')}/explain"))


@about
async def ingest(client: Wire, names: Names) -> object:
    line = f'{{"scope":"{names.scope}","id":"first","name":"n","text":"other than before"}}'
    lines = f'{line}\n{line}\n{{"scope":"{names.scope}","flush":true,"id":"f"}}\nbad'
    return seen(await client.ingest(lines.encode()))


@about
async def ingest_stream(client: Wire, names: Names) -> object:
    async with open_lines(names.url, f"authorization: Bearer {token_of(names.who)}") as stream:
        if stream.status == 200:
            await stream.send(
                f'{{"scope":"{names.scope}","id":"first","name":"n","text":"other"}}\n'.encode()
            )
            await stream.end()
            while await stream.frame() is not None:
                pass
        return stream.status, stream.frames


@thing
async def health(client: Wire, names: Names) -> object:
    paths = ("/healthz", "/readyz", "/nowhere", "/metrics", "/v1/scopes", "/v1/scopes/", "/v1/decisions/x")
    return [seen(await client.client.get(path)) for path in paths]


@thing
async def listings(client: Wire, names: Names) -> object:
    methods = ("server/discover", "events/list", "tools/list", "resources/list", "resources/templates/list")
    return [(await client.post(method)).text for method in (*methods, "prompts/list")]


async def polled(client: Wire, names: Names, arguments: dict[str, Any], **more: Any) -> object:
    """Polls from the beginning until there is no more."""
    pages: list[object] = []
    cursor: str | None = names.cursor
    while True:
        params: dict[str, Any] = {"name": EVENT, "arguments": arguments, "cursor": cursor, **more}
        answer = await client.post("events/poll", params)
        pages.append((answer.status_code, answer.text))
        found: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
        result: dict[str, Any] = found.get("result", {})
        if not result.get("hasMore"):
            return pages
        cursor = result["cursor"]


@thing
async def poll(client: Wire, names: Names) -> object:
    return await polled(client, names, {})


@thing
async def poll_one_by_one(client: Wire, names: Names) -> object:
    return await polled(client, names, {}, maxEvents=1)


@about
async def poll_arguments(client: Wire, names: Names) -> object:
    return [
        await polled(client, names, arguments, maxEvents=2)
        for arguments in (
            {"scope": names.scope},
            {"scopePrefix": names.scope[:2]},
            {"routes": ["note", "ask"]},
            {"minConfidence": 0.5},
            {"redact": True},
            {"scope": names.scope, "redact": True},
            {"scope": 7},
        )
    ]


@thing
async def poll_held(client: Wire, names: Names) -> object:
    now = await client.post("events/poll", {"name": EVENT, "arguments": {}, "cursor": None})
    cursor = now.json()["result"]["cursor"] if now.status_code == 200 else "x"
    return await polled(client, names, {}, maxAgeMs=1), await polled(
        client, at_cursor(names, cursor), {}, timeoutMs=150
    )


@thing
async def poll_other_cursors(client: Wire, names: Names) -> object:
    return [await polled(client, at_cursor(names, cursor), {}) for cursor in ("", "garbage", "AAAA" * 30)]


@thing
async def stream(client: Wire, names: Names) -> object:
    params: dict[str, Any] = {"name": EVENT, "arguments": {}, "cursor": names.cursor}
    if (await client.post("events/poll", params)).status_code != 200:
        return seen(await client.post("events/stream", params))
    async with client.stream(names.cursor) as frames:
        found = [await frames.next()]
        while found[-1][0] != "heartbeat":
            found.append(await frames.next())
        return found


@about
async def subscribe(client: Wire, names: Names) -> object:
    delivery = {"mode": "webhook", "url": "https://192.0.2.1/hook", "secret": "whsec_" + "A" * 32}
    params = {"name": EVENT, "arguments": {"scope": names.scope}, "delivery": delivery}
    return [seen(await client.post(f"events/{method}", params)) for method in ("subscribe", "unsubscribe")]


async def called(client: Wire, name: str, **arguments: Any) -> object:
    """A tool's answer."""
    answer = await client.post("tools/call", {"name": name, "arguments": arguments})
    return answer.status_code, answer.text


@about
async def attend_wait(client: Wire, names: Names) -> object:
    return [
        await called(client, "attend_wait", cursor=names.cursor, waitSeconds=0.05, **arguments)
        for arguments in ({}, {"max": 1}, {"scope": names.scope}, {"scopePrefix": names.scope[:2]})
    ]


@about
async def attend_window(client: Wire, names: Names) -> object:
    return [
        await called(client, "attend_window", decisionId=names.decision, **more)
        for more in ({}, {"cursor": "0"}, {"cursor": "5"})
    ]


@about
async def attend_ack(client: Wire, names: Names) -> object:
    return [await called(client, "attend_ack", decisionId=names.decision) for _ in range(2)]


@about
async def attend_push(client: Wire, names: Names) -> object:
    event = {"name": "agent.said", "id": "first"}
    return [await called(client, "attend_push", scope=names.scope, events=[event]) for _ in range(2)]


@thing
async def list_attention(client: Wire, names: Names) -> object:
    return [
        await called(client, "list_attention", **arguments)
        for arguments in ({}, {"since": names.since}, {"since": "garbage"}, {"waitSeconds": 0.1})
    ]


@thing
async def listen(client: Wire, names: Names) -> object:
    if (await client.post("tools/list")).status_code != 200:
        return None
    async with client.listen(f"attend://workspace/default/attention/{names.who}") as frames:
        return await frames.next()


@thing
async def resources(client: Wire, names: Names) -> object:
    uris = [f"attend://workspace/default/attention/{name}" for name in ("ops", "shop", "nobody")]
    return [
        (await client.post("resources/read", {"uri": uri}, headers={"Mcp-Name": uri})).text for uri in uris
    ]


def at_cursor(names: Names, cursor: str) -> Names:
    """The same names with another cursor."""
    return structs.replace(names, cursor=cursor)
