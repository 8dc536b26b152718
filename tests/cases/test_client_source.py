"""A source whose server forgets it: it asks anew from the committed cursor, or says loudly that it cannot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pytest

from attend import Emit, NewEvent, Source, Taken
from attend.errors import PermanentError
from attend.mcp import mcp_events_source
from tests.mcp.conftest import Heard, heard, until
from tests.rig.events_server import NAME, Asked, EventsServer, Fault, Story

__all__ = ["heard"]

pytestmark = pytest.mark.anyio


class Counted:
    """A source, and how many of its events were known already."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.duplicates = 0

    @property
    def key(self) -> str:
        """The source's."""
        return self._source.key

    async def run(self, cursor: str | None, emit: Emit) -> None:
        """Run it."""

        async def counted(
            events: Iterable[NewEvent | Mapping[str, Any]], cursor: str | None, *, gap: bool = False
        ) -> Taken:
            taken = await emit(events, cursor, gap=gap)
            self.duplicates += len(taken.duplicates)
            return taken

        await self._source.run(cursor, counted)


async def test_a_restarted_server_is_asked_anew_from_the_committed_cursor(heard: Heard) -> None:
    story = Story()

    async def again(asked: Asked) -> AsyncIterator[dict[str, Any] | bytes]:
        """Hands out once more what the cursor covers, as a server may."""
        yield asked.note("active", cursor=asked.cursor, truncated=False)
        yield asked.event(int(asked.cursor or 0), cursor=None)
        async for message in story.stream(asked):
            yield message

    async with EventsServer(stream=story.stream) as server:
        source = Counted(mcp_events_source(server.url, NAME))
        async with heard.attached(source):
            await until(lambda: server.open)
            story.tell(3)
            await heard.met(["e1", "e2", "e3"])
            await server.stop()
            story.tell(3)
            server.handlers["events/stream"] = again
            await server.start()
            await heard.met([f"e{number}" for number in range(1, 7)])
    assert server.methods("events/stream")[-1].cursor == "3"
    assert source.duplicates == 1


async def test_a_server_that_knows_nobody_any_more_is_never_silence(heard: Heard) -> None:
    story = Story()

    def unknown(asked: Asked) -> dict[str, Any]:
        raise Fault(-32001, "Session not found", status=404)

    async with EventsServer(stream=story.stream) as server:
        source = mcp_events_source(server.url, NAME)
        async with heard.attached(source) as attached:
            await until(lambda: server.open)
            await server.stop()
            server.handlers["events/stream"] = unknown
            await server.start()
            with pytest.raises(PermanentError, match="Session not found"):
                await attached
