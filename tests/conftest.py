"""Fixtures for every test: the event loop, and real servers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers import Server, bundled_binary, redis_binary

_WITH_PROCESSES = {
    "api",
    "cases",
    "channel",
    "cli",
    "client",
    "engine",
    "interop",
    "loadtest",
    "main_job",
    "mcp",
    "sinks",
    "webhooks",
    "workers",
}
"""Folders whose tests start processes and wait for them: on a machine that stalls for a while one may run late."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a test of those again, up to twice, before it counts as failed."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in _WITH_PROCESSES:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def valkey() -> Iterator[Server]:
    """The bundled Valkey, without persistence; tests share it, so flush it before use."""
    yield from _shared(bundled_binary())


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    """The machine's redis-server, without persistence; tests share it, so flush it before use."""
    yield from _shared(redis_binary())


def _shared(binary: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="attend-") as folder:
        server = Server(binary, Path(folder)).start()
        try:
            yield server
        finally:
            server.kill()


@pytest.fixture
def new_server() -> Iterator[Callable[..., Server]]:
    """Starts a server of the test's own, a bundled Valkey: `new_server("--appendonly", "yes", port=...)`."""
    started: list[Server] = []
    with tempfile.TemporaryDirectory(prefix="attend-") as folder:

        def start(*options: str, port: int = 0, binary: Callable[[], str] = bundled_binary) -> Server:
            server = Server(binary(), Path(folder) / str(len(started)), *options, port=port)
            started.append(server)
            return server.start()

        try:
            yield start
        finally:
            for server in started:
                server.kill()
