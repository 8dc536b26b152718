"""`attend channel` against a real serve: what Claude Code sees of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.channel.conftest import Tell, free_port, send, serve
from tests.channel.session import Session, subjects


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2024-11-05"])
def test_the_earlier_handshake(url: str, tmp_path: Path, version: str) -> None:
    with Session(url, tmp_path / "seen", start=False) as session:
        hello = session.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={})["result"]
        assert hello["protocolVersion"] == version
        assert hello["capabilities"] == {"experimental": {"claude/channel": {}}, "tools": {}}
        assert "attention_seen" in hello["instructions"]
        assert session.ask("ping")["result"] == {}
        names = [tool["name"] for tool in session.ask("tools/list")["result"]["tools"]]
        assert names == ["attention_seen", "list_attention"]
        assert session.close() == 0


def test_a_version_it_does_not_know_gets_the_newest_it_has(url: str, tmp_path: Path) -> None:
    with Session(url, tmp_path / "seen", start=False) as session:
        hello = session.ask("initialize", protocolVersion="2026-07-28", capabilities={}, clientInfo={})
        assert hello["result"]["protocolVersion"] == "2025-11-25"


def test_what_is_no_request_of_its(url: str, tmp_path: Path) -> None:
    with Session(url, tmp_path / "seen", start=False) as session:
        assert session.ask("server/discover")["error"]["code"] == -32601
        for line, code in ((b"nonsense", -32700), (b"\xff", -32700), (b"[1]", -32600), (b'{"id":1}', -32600)):
            session.write(line)
            assert session.answer(None)["error"]["code"] == code
        session.write({"jsonrpc": "2.0", "id": 99, "result": {}})
        session.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert session.tool("nothing")["isError"]
        assert session.tool("attention_seen", id="nothing")["isError"]


def test_news_is_pushed_in_order_and_says_which_tool_reads_more(url: str, tmp_path: Path, tell: Tell) -> None:
    with Session(url, tmp_path / "seen") as session:
        session.ready()
        for n in range(20):
            tell("run.failed", run=f"order-{n}", app="Low stock", error="connector_rejected")
        pushes = session.pushed(20)
        assert subjects(pushes) == [f"order-{n}" for n in range(20)]
        first = pushes[0]
        assert first["content"] == (
            "A run of [Low stock] failed with connector_rejected (run order-0) in scope [shop/1]. "
            "Use list_attention to read more."
        )
        assert first["meta"].items() >= {"news": "run_failed", "code": "connector_rejected"}.items()
        for push in pushes:
            assert all(re.fullmatch(r"[A-Za-z0-9_]+", key) for key in push["meta"])
            assert all(isinstance(value, str) for value in push["meta"].values())
        session.close()
        assert b"canary" not in b"".join(session.raw)


def test_what_was_not_seen_comes_again_after_a_restart_and_what_was_does_not(tmp_path: Path) -> None:
    service = serve(tmp_path)
    try:
        send(service.url, "approval.requested", approval="open", **{"for": "ana"})
        with Session(service.url, tmp_path / "seen") as session:
            assert subjects(session.pushed()) == ["open"]
            for run in ("r1", "r2", "r3"):
                send(service.url, "run.failed", run=run)
            first = session.pushed(3)
        with Session(service.url, tmp_path / "seen") as session:
            again = session.pushed(4)
            assert subjects(again) == ["open", "r1", "r2", "r3"]
            assert again[1:] == first
            said = session.tool("attention_seen", id=again[2]["meta"]["id"])
            assert said == {"content": [{"type": "text", "text": "Seen, and 2 before it."}], "isError": False}
            assert session.tool("attention_seen", id=again[2]["meta"]["id"])["isError"] is False
        send(service.url, "run.failed", run="while it was away")
        with Session(service.url, tmp_path / "seen") as session:
            last = session.pushed(2)
            assert subjects(last) == ["r3", "while it was away"]
            session.tool("attention_seen", id=last[-1]["meta"]["id"])
        with Session(service.url, tmp_path / "seen") as session:
            assert session.quiet(2)
    finally:
        service.kill()


def test_what_was_not_seen_comes_up_again_so_often(url: str, tmp_path: Path, tell: Tell) -> None:
    flags = ("--again-ms", "1000", "--again-times", "2")
    with Session(url, tmp_path / "seen", *flags) as session:
        session.ready()
        tell("run.failed", run="again")
        pushes = session.pushed(3)
        assert subjects(pushes) == ["again"] * 3
        assert [push["meta"].get("again") for push in pushes] == [None, "2", "3"]
        assert session.quiet(2.5)


def test_it_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    port = free_port()
    with Session(f"http://127.0.0.1:{port}", tmp_path / "seen") as session:
        assert session.tool("list_attention")["isError"]
        service = serve(tmp_path, port)
        send(service.url, "app.failing", app="app_1")
        assert subjects(session.pushed()) == ["app_1"]
        service.kill()
        service = serve(tmp_path, port)
        try:
            # The store was in memory: its feed is another one now.
            send(service.url, "run.failed", run="after")
            told = session.pushed(2)
            assert [push["meta"].get("subject") for push in told] == [None, "after"]
            assert told[0]["content"].startswith("Older news is gone already.")
        finally:
            service.kill()
        assert session.close() == 0


def test_a_file_that_is_broken_is_begun_anew(url: str, tmp_path: Path, tell: Tell) -> None:
    (tmp_path / "seen").write_bytes(b"\0not json")
    with Session(url, tmp_path / "seen") as session:
        session.ready()
        tell("run.failed", run="broken file")
        assert subjects(session.pushed()) == ["broken file"]
    assert json.loads((tmp_path / "seen").read_bytes())["cursor"]
    assert (tmp_path / "seen").stat().st_mode & 0o777 == 0o600


@pytest.mark.anyio
async def test_the_official_client_loads_it(url: str, tmp_path: Path) -> None:
    import sys

    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    arguments = ["-m", "attend.cli.main", "channel", "--url", url, "--token", "all"]
    server = StdioServerParameters(
        command=sys.executable, args=[*arguments, "--state", str(tmp_path / "seen")]
    )
    async with stdio_client(server) as (receive, send), ClientSession(receive, send) as session:
        hello = await session.initialize()
        assert hello.capabilities.experimental == {"claude/channel": {}}
        answer: Any = await session.call_tool("list_attention", {})
        assert "open" in answer.structured_content
