"""Crews and the apps that push to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from attend.app import Attend
from attend.store.redis import RedisStore
from tests.servers import Server
from tests.workers.crew import Crew


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    """A server of the test's own that keeps what it took over a restart."""
    return new_server("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def new_crew(server: Server, tmp_path: Path) -> Iterator[Callable[..., Crew]]:
    """Makes a crew on the server: `new_crew(code, judge="ours:judge")`. Whoever is left is killed."""
    crews: list[Crew] = []

    def make(code: str = "", **settings: str) -> Crew:
        crews.append(Crew(tmp_path, server.url, code, **settings))
        return crews[-1]

    yield make
    for crew in crews:
        crew.kill()


@pytest.fixture
async def producer(server: Server, anyio_backend: str) -> AsyncIterator[Callable[..., Attend]]:
    """Makes an app that pushes, with the settings that its crew has."""
    made: list[Attend] = []

    def make(**options: object) -> Attend:
        made.append(Attend(store=RedisStore(server.url), kind={"u": "flush"}, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for app in made:
        await app.close()
