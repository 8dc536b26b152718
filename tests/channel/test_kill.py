"""News through processes that are killed and a Redis that is restarted: each piece once, in order, none lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.channel.conftest import free_port
from tests.channel.session import Session, subjects
from tests.rig.service import Service, post
from tests.servers import Server

pytestmark = pytest.mark.timeout(240)


def api(server: Server, port: int, tmp_path: Path) -> Service:
    """An API process on a server, with a token."""
    flags = ("--store", server.url, "--port", str(port), "--token", "all")
    return Service("api", *flags, log=tmp_path / "api.log").wait_ready()


def fail(url: str, run: int) -> None:
    """A run that failed, told again until it is taken."""
    line = {"scope": f"s{run % 3}", "id": f"e{run}", "name": "run.failed", "data": {"run": f"r{run}"}}
    reply = post(url, [json.dumps(line).encode()], token="all")
    assert reply["accepted"] + reply["duplicates"] == 1, reply


def test_each_piece_of_news_is_pushed_once(new_server: Callable[..., Server], tmp_path: Path) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always")
    port = free_port()
    service = api(server, port, tmp_path)
    with Session(service.url, tmp_path / "seen") as session:
        session.ready()
        told: list[str] = []
        for run in range(40):
            if run in (10, 25):
                service.kill()
                service = api(server, port, tmp_path)
            if run in (18, 32):
                server.restart()
            fail(service.url, run)
            fail(service.url, run)
            if run % 8 == 7:
                found = session.pushed(8)
                told += subjects(found)
                session.tool("attention_seen", id=found[-1]["meta"]["id"])
        assert told == [f"r{run}" for run in range(40)]
        assert session.quiet(1)
    with Session(service.url, tmp_path / "seen") as session:
        session.ready()
        assert session.quiet(2)
    service.kill()
