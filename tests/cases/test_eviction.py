"""A server that is set to evict any key is named when attend starts, and what it took is reported, scope by scope.

From a report of a queue whose Redis was shared with a cache, which dropped queue data at will.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.cli.test_serve import attend, until
from tests.rig.service import Service
from tests.servers import Server, plain_client

pytestmark = pytest.mark.timeout(300)

KINDS = ("--kinds", '{"user.said":"flush"}')
BASE = "attend:{default}:"


def send(url: str, scope: str, id: str, name: str) -> dict[str, object]:
    """One event; the reply."""
    line = json.dumps({"scope": scope, "id": id, "name": name})
    reply: dict[str, object] = (
        httpx.post(f"{url}/v1/ingest", content=line, timeout=60).raise_for_status().json()
    )
    return reply


@pytest.mark.parametrize("command", ["serve", "api", "worker"])
def test_every_process_names_the_policy_when_it_starts(
    new_server: Callable[..., Server], tmp_path: Path, command: str
) -> None:
    server = new_server("--maxmemory-policy", "allkeys-lru")
    flags = ("--store", server.url) if command == "worker" else ("--store", server.url, "--port", "0")
    ready = "worker" if command == "worker" else r"http://[\w.:]+"
    service = Service(command, *flags, ready=ready, log=tmp_path / "log")
    try:
        service.wait_ready()
        assert "maxmemory-policy allkeys-lru" in (tmp_path / "log").read_text()
        assert "noeviction" in (tmp_path / "log").read_text()
    finally:
        service.kill()


def test_a_scope_that_lost_its_snapshot_says_so_and_the_others_go_on(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = new_server("--maxmemory-policy", "allkeys-lru")
    log = tmp_path / "log"
    service = Service("serve", "--store", server.url, "--port", "0", *KINDS, log=log).wait_ready()
    url = service.url
    try:
        for scope in ("gone", "fine"):
            for id in ("a", "b", "c"):
                assert send(url, scope, id, "log")["accepted"] == 1
        with plain_client(server.url) as redis:
            assert redis.delete(f"{BASE}s:gone") == 1
            assert redis.exists(f"{BASE}t:gone") == 1
        found = httpx.get(f"{url}/v1/scopes/gone", timeout=60).json()
        assert (found["status"], found["open"]["gap"], found["open"]["eventCount"]) == ("lost", True, 0)
        told = attend("doctor", "--store", server.url)
        assert told.returncode == 1
        assert "1 lost" in told.stdout
        # Neither acts on half a state: the lost one begins again, marked, and the other is whole.
        for scope in ("gone", "fine"):
            assert send(url, scope, "d", "user.said")["accepted"] == 1

        def decided() -> bool:
            heard = attend("tail", "--url", url, "--from", "start", "--json", "-n", "2").stdout
            events = {data["scope"]: data for data in (json.loads(row)["data"] for row in heard.splitlines())}
            assert (events["gone"]["eventIds"], events["gone"]["gap"]) == (["d"], True)
            assert (events["fine"]["eventIds"], events["fine"]["gap"]) == (["a", "b", "c", "d"], False)
            return True

        until(decided)
        assert "Traceback" not in log.read_text()
        assert "gone" in log.read_text()
        assert service.stop() == 0
    finally:
        service.kill()
