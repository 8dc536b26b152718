"""One `attend serve` for every client, and decisions for each of them to find."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.rig.service import Service, post

_scopes = itertools.count(1)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running one, in memory, with a heartbeat twice a second."""
    log = tmp_path_factory.mktemp("interop") / "log"
    options = ("--store", "memory", "--port", "0", "--kinds", '{"user.*":"flush"}', "--heartbeat-ms", "500")
    made = Service("serve", *options, log=log)
    try:
        yield made.wait_ready()
    finally:
        made.stop()


@pytest.fixture
def scope() -> str:
    """A scope of the test's own."""
    return f"interop/{next(_scopes)}"


Decided = Callable[[int], list[str]]


@pytest.fixture
def decided(service: Service, scope: str) -> Decided:
    """Has so many decisions made in the scope, and returns their ids in order."""
    numbers = itertools.count(1)
    made: list[str] = []

    def decide(count: int) -> list[str]:
        for _ in range(count):
            event = {"scope": scope, "id": f"e{next(numbers)}", "name": "user.said", "text": "look here"}
            assert post(service.url, [json.dumps(event).encode()])["accepted"] == 1
            deadline = time.monotonic() + 30
            while len(ids := recent(service, scope)) == len(made):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            made[:] = ids
        return made[-count:]

    return decide


def recent(service: Service, scope: str) -> list[str]:
    """The ids of the scope's decisions, by an ordinary look at the log."""
    params = {"name": "attend_wait", "arguments": {"scope": scope, "cursor": "start", "waitSeconds": 0}}
    meta = "io.modelcontextprotocol/"
    envelope = {
        f"{meta}protocolVersion": "2026-07-28",
        f"{meta}clientInfo": {"name": "interop", "version": "1"},
        f"{meta}clientCapabilities": {},
    }
    answer = httpx.post(
        f"{service.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": envelope}},
        headers={
            "accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "attend_wait",
        },
    )
    result = answer.text.rpartition("data: ")[2] if "data: " in answer.text else answer.text
    decisions = json.loads(result)["result"]["structuredContent"]["decisions"]
    return [each["decisionId"] for each in decisions]
