"""Faults of ingest under load that users of such systems reported, each against a real process."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from tests.api.wire import wire
from tests.rig.lines_open import counts, open_lines
from tests.rig.reader import until
from tests.rig.service import Service
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

MIB = 1024 * 1024


def line(scope: str, id: str, name: str = "n") -> bytes:
    return json.dumps({"scope": scope, "id": id, "name": name}).encode() + b"\n"


def memory_of(process: int, what: str) -> int:
    """Bytes that a process holds (`VmRSS`), or ever held at once (`VmHWM`)."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a process's memory is looked up in /proc")
async def test_a_small_body_that_expands_without_end_is_refused_before_memory_grows(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    """The limit applied to the compressed bytes only, so that a small request expanded without bound."""
    server = new_server()
    service = Service("api", "--store", server.url, "--port", "0", log=tmp_path / "log")
    await to_thread.run_sync(service.wait_ready)
    row = b'{"scope":"bomb","name":"n","text":"0123456789"}\n'
    bomb = gzip.compress(row * (128 * MIB // len(row)))
    assert len(bomb) < 2 * MIB

    async def chunked() -> AsyncGenerator[bytes]:
        for at in range(0, len(bomb), 8192):
            yield bomb[at : at + 8192]

    encoded = {"content-encoding": "gzip"}
    try:
        async with wire(service.url) as client:
            honest = gzip.compress(b"".join(line("honest", str(n)) for n in range(500)))
            answer = await client.ingest(honest, **encoded)
            assert answer.json()["accepted"] == 500
            before = memory_of(service.process.pid, "VmRSS")
            for content in (bomb, chunked()):

                async def small() -> None:
                    with anyio.fail_after(30):
                        assert (await client.ingest(line("small", "a"))).status_code == 200

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(small)
                    answer = await client.client.post("/v1/ingest", content=content, headers=encoded)
                assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")
                assert "accepted" not in answer.json()
            assert memory_of(service.process.pid, "VmHWM") - before < 64 * MIB
            assert (await client.client.get("/v1/scopes/bomb")).status_code == 404
    finally:
        assert await to_thread.run_sync(service.stop) == 0


async def test_lines_of_an_open_request_are_taken_as_they_come(url: str) -> None:
    """They were taken when the request ended, and all of them were lost where its sender died first."""
    async with wire(url) as client, open_lines(url) as stream:
        cursor = (await client.poll(None))["cursor"]
        for n in range(1, 11):
            await stream.send(line("open", str(n), "say" if n == 5 else "n"))
            # Before the next line is sent, where one more would have been soon enough.
            assert (await stream.ack(n))[-1]["ack"] == n
            await anyio.sleep(0.1)
            if n == 6:
                page = await client.poll(cursor, {"scope": "open"}, timeoutMs=20_000)
                assert page["events"][0]["data"]["eventIds"] == ["1", "2", "3", "4", "5"]
        await stream.send(line("open", "half")[:-9])
        stream.cut()
        assert counts(stream.frames) == (10, 0, 0)
        # The scope is of use at once, and the half line is nowhere.
        assert (await client.ingest(line("open", "after", "say"))).json()["accepted"] == 1

        async def decided() -> list[list[str]]:
            events, _ = await client.drain(cursor, arguments={"scope": "open"})
            found: list[list[str]] = [event["data"]["eventIds"] for event in events]
            return found[1:]

        await until(decided)
        assert await decided() == [["6", "7", "8", "9", "10", "after"]]


async def test_many_streams_at_once_lose_nothing_and_mix_nothing_up(url: str) -> None:
    total: list[tuple[int, int, int]] = []

    async def one(scope: str) -> None:
        async with open_lines(url) as stream:
            for n in range(40):
                await stream.send(line(scope, str(n)) + (b"\n" if n % 7 == 0 else b"") + b"bad\n")
            await stream.end()
            while await stream.frame() is not None:
                pass
            total.append(counts(stream.frames))

    async with anyio.create_task_group() as tasks:
        for n in range(30):
            tasks.start_soon(one, f"many/{n}")
    assert total == [(40, 0, 40)] * 30
    async with wire(url) as client:
        for n in range(30):
            report: dict[str, Any] = (await client.client.get(f"/v1/scopes/many%2F{n}")).json()
            assert report["open"]["eventCount"] == 40
