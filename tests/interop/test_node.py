"""The official clients on Node: the one that has events, and the one before it."""

from __future__ import annotations

from tests.interop.conftest import Decided
from tests.interop.npm import HERE, run
from tests.rig.service import Service

TOOLS = {"attend_wait", "attend_window"}


def test_the_client_polls_streams_and_calls_tools(service: Service, scope: str, decided: Decided) -> None:
    made = decided(3)
    said = run("modern.mjs", f"{service.url}/mcp", scope)
    assert said["version"] == "2026-07-28"
    assert "io.modelcontextprotocol/events" in said["capabilities"]["extensions"]
    assert [name for name, _ in said["events"]] == ["attention.decision"]
    assert {"poll", "push"} <= set(said["events"][0][1])
    assert said["polled"] == said["streamed"] == said["waited"] == made
    assert said["error"] == {"code": -32023, "data": {"kind": "event"}}
    assert (said["first"], said["stream"]) == ("active", "aborted")
    assert set(said["tools"]) >= TOOLS
    assert said["window"] == made[0]


def test_the_sdk_before_it_has_the_tools_and_is_told_of_no_events(
    service: Service, scope: str, decided: Decided
) -> None:
    made = decided(2)
    said = run("earlier.mjs", f"{service.url}/mcp", scope)
    assert said["server"] == "attend"
    assert said["error"] == -32601
    assert set(said["tools"]) >= TOOLS
    assert said["waited"] == made


def test_the_lock_names_no_host() -> None:
    assert "://" not in (HERE / "package-lock.json").read_text(encoding="utf-8")
