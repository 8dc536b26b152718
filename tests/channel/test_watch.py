"""`attend watch`: lines for a monitor."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from attend.cli.watch import Cap, line_of
from attend.client import Occurrence
from tests.rig.service import Service, post


class Lines:
    """What was written, to be waited for."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def write(self, line: str) -> None:
        self.all.append(line)
        self._queue.put_nowait(line)

    async def next(self) -> str:
        async with asyncio.timeout(30):
            return await self._queue.get()


@pytest.mark.anyio
async def test_a_cap_lets_so_many_through_and_counts_the_rest() -> None:
    lines = Lines()
    cap = Cap(lines.write, 3, minute=3600, pause=0.01)
    for n in range(10):
        cap.take(f"line {n}")
    assert lines.all == ["line 0", "line 1"]
    assert [await lines.next() for _ in range(3)][2] == (
        "8 more decisions meanwhile; attend tail --since 5m shows them"
    )
    cap.take("one more")
    await asyncio.sleep(0.05)
    assert len(lines.all) == 3
    cap.close()


@pytest.mark.anyio
async def test_a_minute_later_there_is_room_again() -> None:
    lines = Lines()
    cap = Cap(lines.write, 1, minute=0.2, pause=0.01)
    cap.take("first")
    cap.take("second")
    assert lines.all == ["first"]
    assert await lines.next() == "first"
    assert await lines.next() == "1 more decision meanwhile; attend tail --since 5m shows them"
    await asyncio.sleep(0.25)
    cap.take("third")
    assert await lines.next() == "third"
    cap.close()


def test_a_line_has_no_word_of_the_notice() -> None:
    data = {
        "scope": "repo:acme/shop",
        "route": "interrupt",
        "reason": "flush",
        "eventCount": 1,
        "notice": "words",
    }
    line = line_of(Occurrence("d1", "", data))
    assert line == "interrupt [repo:acme/shop] 1 event flush (decision d1)"


def test_a_decision_is_one_line(tmp_path: Path) -> None:
    serve = (
        "serve",
        "--store",
        "memory",
        "--port",
        "0",
        "--token",
        "all",
        "--kinds",
        '{"user.said":"flush"}',
    )
    service = Service(*serve, log=tmp_path / "serve.log").wait_ready()
    watch = Service(
        *("watch", "--url", service.url, "--token", "all"), ready=r"^\w+ \[", log=tmp_path / "watch.log"
    )
    try:
        for n in range(200):
            post(service.url, [b'{"scope":"s","name":"user.said","text":"canary %d"}' % n], token="all")
            if watch.lines:
                break
        watch.wait_ready()
        assert re.fullmatch(r"interrupt \[s\] \d events? flush \(decision [0-9a-f]{32}\)\n", watch.lines[0])
        assert "canary" not in "".join(watch.lines)
    finally:
        watch.kill()
        service.kill()
