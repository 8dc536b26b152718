"""An app that hears what its sources tell, and what was heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from attend import Attend, MemoryStore, Source, Taken, Trace
from attend.mcp import SourceTrouble
from attend.trace import SourceFailed

SCOPE = "repo:acme/shop"


async def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for a condition."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - it does not say
            await anyio.sleep(0.01)


class Heard:
    """An app, what it took, and what it was told of."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.troubles: list[SourceTrouble] = []
        self.store = MemoryStore()
        self.app = Attend(store=self.store, settle={"retry_backoff_ms": (10, 10)}, observe=self.traces.append)

    async def ids(self) -> list[str]:
        """The events in the scope's open window."""
        state = await self.app.engine.state(SCOPE)
        return [] if state is None else [event.id for event in state.open.events]

    async def cursor(self, source: Source) -> str | None:
        """The committed cursor."""
        state = await self.app.engine.state(SCOPE)
        return None if state is None else state.cursors.get(source.key)

    async def gap(self) -> bool:
        """Whether the open window says that events were lost."""
        state = await self.app.engine.state(SCOPE)
        return state is not None and state.open.gap

    def kinds(self) -> list[str]:
        """What trouble it was told of."""
        return [trouble.kind for trouble in self.troubles]

    def failures(self) -> list[str]:
        """Why the source was run again."""
        return [trace.message for trace in self.traces if isinstance(trace, SourceFailed)]

    async def met(self, ids: list[str]) -> None:
        """Wait until the window holds exactly these."""
        found: list[str] = []
        with anyio.move_on_after(30):
            while (found := await self.ids()) != ids:  # noqa: ASYNC110 - it does not say
                await anyio.sleep(0.01)
        assert found == ids

    async def read_to(self, source: Source, cursor: str) -> None:
        """Wait until the source's cursor is this one."""
        found: str | None = None
        with anyio.move_on_after(30):
            while (found := await self.cursor(source)) != cursor:  # noqa: ASYNC110 - it does not say
                await anyio.sleep(0.01)
        assert found == cursor

    async def has(self, *ids: str) -> None:
        """Wait until the window holds all of these, in any order."""
        found: list[str] = []
        with anyio.move_on_after(30):
            while not set(ids) <= set(found := await self.ids()):  # noqa: ASYNC110 - it does not say
                await anyio.sleep(0.01)
        assert set(ids) <= set(found)

    @asynccontextmanager
    async def attached(self, source: Source) -> AsyncGenerator[asyncio.Task[None]]:
        """The source attached, in the background."""
        task = asyncio.create_task(self.app.attach(SCOPE, source))
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


@pytest.fixture
async def heard(anyio_backend: str) -> AsyncGenerator[Heard]:
    """A fresh app."""
    made = Heard()
    yield made
    await made.app.close()


__all__ = ["SCOPE", "Heard", "Taken", "until"]
