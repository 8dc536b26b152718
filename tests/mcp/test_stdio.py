"""A server that is a command, made with the official SDK and spoken to through its transport."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from attend.errors import PermanentError
from attend.mcp import TransportServer, mcp_events_source, stdio_server
from tests.mcp.conftest import Heard

pytestmark = pytest.mark.anyio


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Its bytes are the events that happened."""
    made = tmp_path / "numbers"
    made.write_bytes(b"")
    return made


def happened(file: Path, events: int) -> None:
    """So many events, all in all."""
    file.write_bytes(b"x" * events)


def started(file: Path) -> TransportServer:
    """The server, to be entered."""
    return stdio_server(sys.executable, [str(Path(__file__).parent / "clock_server.py"), str(file)])


async def test_several_streams_share_one_command(heard: Heard, file: Path) -> None:
    async with started(file) as server:
        odd, even = (mcp_events_source(server, "number", {"only": only}) for only in ("odd", "even"))
        async with heard.attached(odd), heard.attached(even):
            await heard.read_to(odd, "0")
            await heard.read_to(even, "0")
            happened(file, 6)
            await heard.has(*(f"n{number}" for number in range(1, 7)))
            assert sorted(await heard.ids()) == [f"n{number}" for number in range(1, 7)]
            odd_ones = [id for id in await heard.ids() if int(id[1:]) % 2]
            assert odd_ones == ["n1", "n3", "n5"]


async def test_a_command_that_ends_ends_its_sources_and_a_new_one_goes_on(heard: Heard, file: Path) -> None:
    source = None
    async with started(file) as server:
        source = mcp_events_source(server, "number", {"only": "odd"}, on_error=heard.troubles.append)
        async with heard.attached(source) as attached:
            happened(file, 3)
            await heard.met(["n1", "n3"])
            await server.close()
            with pytest.raises(PermanentError, match="transport is closed"):
                await attached
        with pytest.raises(PermanentError, match="transport is closed"):
            await heard.app.attach("elsewhere", source)
    happened(file, 5)
    async with (
        started(file) as server,
        heard.attached(mcp_events_source(server, "number", {"only": "odd"})),
    ):
        await heard.met(["n1", "n3", "n5"])
    assert heard.kinds() == []


async def test_a_reader_that_goes_ends_its_stream_and_no_other(heard: Heard, file: Path) -> None:
    async with started(file) as server:
        even = mcp_events_source(server, "number", {"only": "even"}, on_error=heard.troubles.append)
        async with heard.attached(even):
            async with heard.attached(mcp_events_source(server, "number", {"only": "odd"})):
                happened(file, 2)
                await heard.has("n1", "n2")
            happened(file, 4)
            await heard.has("n4")
            await asyncio.sleep(0.2)
            assert sorted(await heard.ids()) == ["n1", "n2", "n4"]
    assert heard.kinds() == []


async def test_a_command_that_cannot_be_started_says_so() -> None:
    with pytest.raises((OSError, FileNotFoundError)):
        async with stdio_server("/nowhere/at/all"):
            pass
