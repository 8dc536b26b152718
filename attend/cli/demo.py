"""`attend demo`: a build server's events go in over HTTP, an agent listens over MCP, and both are real."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, TextIO, cast

import httpx

from attend.cli import parent
from attend.cli.listener import listen

SCOPE = "repo:acme/shop"
KINDS = {"test.failed": "closing", "review.comment": "flush", "release.*": "closing"}

STORY: tuple[tuple[float, str, dict[str, Any], str | None], ...] = (
    (0.0, "pipeline.started", {"run": 88, "branch": "main"}, None),
    (0.2, "step.output", {"line": "214 packages installed"}, None),
    (0.4, "step.output", {"line": "640 tests collected"}, None),
    (0.6, "step.output", {"line": "639 passed, 1 failed"}, None),
    (0.8, "test.failed", {"test": "cart keeps its discount after login"}, None),
    (1.9, "review.comment", {"by": "noor"}, "noor: did my change to the cart break this?"),
    (2.6, "step.output", {"line": "image pushed"}, None),
    (2.8, "release.published", {"version": "2.14.1", "to": "staging"}, None),
)
"""When (seconds), what, with which data, and in which words."""

EXPECTED = [("interrupt", 6), ("note", 2)]
"""The decisions that the story comes to: the route and how many events."""

PATIENCE = 30.0
"""Seconds to wait for a decision before the demo gives up: a slow machine is not a broken one."""


def run_demo() -> int:
    """Play the story; 0 when the agent heard what it should."""
    try:
        return asyncio.run(_demo(sys.stdout))
    except KeyboardInterrupt:
        return 1


async def _demo(out: TextIO) -> int:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        async with _service(errors) as (process, url):
            if url is None:
                errors.seek(0)
                print(f"attend demo: the server did not start\n{errors.read()}", file=sys.stderr)
                return 1
            try:
                heard = await _Play(out, process, url).run()
            except Exception as error:  # noqa: BLE001 - whatever it is, one line says more than a traceback
                print(f"attend demo: {_plainly(error)}", file=sys.stderr)
                return 1
    expected = [{"route": route, "events": events} for route, events in EXPECTED]
    if heard != expected:
        print(f"attend demo: the agent should have heard {expected}, and heard {heard}", file=sys.stderr)
        return 1
    events, deliveries = len(STORY), len(heard)
    print(
        f"\n{events} events in, {deliveries} deliveries out: {events - deliveries} of {events} wakes saved.",
        file=out,
    )
    return 0


def _plainly(error: BaseException) -> str:
    """What went wrong at the bottom of it: the client wraps that in groups of errors."""
    bottom: Any = error
    while isinstance(bottom, BaseExceptionGroup):
        bottom = cast("Any", bottom).exceptions[0]
    return f"it could not go on: {type(bottom).__name__}: {bottom}"


@contextlib.asynccontextmanager
async def _service(errors: TextIO) -> AsyncGenerator[tuple[Process, str | None]]:
    """`attend serve` with nothing kept, and its URL; None when it ended instead."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "attend", "serve", "--store", "memory", "--port", "0"),
        *("--judge", "attend.cli.demo_judge:judge", "--kinds", json.dumps(KINDS)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=errors,
        env={**environ, parent.VARIABLE: str(os.getpid())},
        cwd=Path(tempfile.gettempdir()),
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        found = re.match(r"attend serving (\S+)", line.decode())
        yield process, None if found is None else found[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


class _Play:
    """The story being told: what goes in, what the judge says, what the agent hears, with the seconds since."""

    def __init__(self, out: TextIO, process: Process, url: str) -> None:
        self._out = out
        self._process = process
        self._url = url
        self._listening = asyncio.Event()
        self._done = asyncio.Event()
        self._heard: list[dict[str, Any]] = []
        self._began = 0.0

    async def run(self) -> list[dict[str, Any]]:
        """Play it; the route and the number of events of each decision heard."""
        print(
            "attend demo: a build server's events go in over HTTP, an agent listens over MCP.\n",
            file=self._out,
        )
        tasks = [
            asyncio.create_task(listen(f"{self._url}/mcp", self._hear)),
            asyncio.create_task(self._watch_judge()),
        ]
        try:
            async with asyncio.timeout(PATIENCE):
                await self._unless_ended(self._listening, tasks)
            self._began = asyncio.get_running_loop().time()
            await self._post()
            async with asyncio.timeout(PATIENCE):
                await self._unless_ended(self._done, tasks)
        except TimeoutError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._heard

    async def _unless_ended(self, event: asyncio.Event, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for the event; raise what ended a task, should one end first."""
        waiting = asyncio.create_task(event.wait())
        try:
            done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        for task in done - {waiting}:
            task.result()

    async def _post(self) -> None:
        """The build server: one request an event, as it happens."""
        loop = asyncio.get_running_loop()
        async with httpx.AsyncClient() as client:
            for number, (at, name, data, text) in enumerate(STORY, 1):
                await asyncio.sleep(max(0.0, self._began + at - loop.time()))
                event = {"scope": SCOPE, "id": f"e{number}", "name": name, "data": data}
                self._print("event", f"{name} {json.dumps(data) if text is None else text}")
                body = json.dumps(event if text is None else {**event, "text": text})
                reply = await client.post(f"{self._url}/v1/ingest", content=body, timeout=PATIENCE)
                reply.raise_for_status()

    async def _watch_judge(self) -> None:
        """The judge in the worker says aloud what it was asked; this reads it."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            if not line.startswith(b"{"):
                continue
            said = json.loads(line)
            merged = ", merged with the window held before" if said["held"] else ""
            plural = "" if said["settled"] == 1 else "s"
            self._print("settle", f"{said['settled']} event{plural} ({said['reason']}){merged}")
            held = " (hold this, ask again with what comes next)" if said["route"] == "wait" else ""
            self._print("judge", said["route"] + held)

    async def _hear(self, word: str, notification: dict[str, Any]) -> None:
        """The agent: told that the stream has begun, then of each decision."""
        if word == "active":
            self._listening.set()
        if word != "event":
            return
        decision = notification["data"]
        self._heard.append({"route": decision["route"], "events": decision["eventCount"]})
        self._print("deliver", decision["route"])
        for line in decision["notice"].splitlines():
            print(f"                | {line}", file=self._out, flush=True)
        if len(self._heard) >= len(EXPECTED):
            self._done.set()

    def _print(self, what: str, text: str) -> None:
        seconds = asyncio.get_running_loop().time() - self._began
        print(f"{seconds:5.1f}s  {what:<8} {text}", file=self._out, flush=True)
