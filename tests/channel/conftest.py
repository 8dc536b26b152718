"""A running serve, and how to tell it something."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig.service import Service, post

Tell = Callable[..., None]


def serve(tmp_path: Path, port: int = 0, *flags: str) -> Service:
    """`attend serve` in memory with a token."""
    given = ("--store", "memory", "--port", str(port), "--token", "all", *flags)
    return Service("serve", *given, log=tmp_path / "serve.log").wait_ready()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running serve, which the tests share."""
    service = serve(tmp_path_factory.mktemp("serve"))
    yield service.url
    service.kill()


@pytest.fixture
def tell(url: str) -> Tell:
    """Send one event."""

    def told(name: str, /, scope: str = "shop/1", **data: Any) -> None:
        send(url, name, scope, **data)

    return told


def send(url: str, name: str, scope: str = "shop/1", /, **data: Any) -> None:
    """One event, whose text is a canary."""
    line = {"scope": scope, "name": name, "data": data, "text": "canary"}
    reply = post(url, [json.dumps(line).encode()], token="all")
    assert reply["accepted"] == 1, reply
