"""The sources of a deployment, each read by one of its workers at a time."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec

from attend.app import Attend, NewEvents
from attend.client.answer import Backoff
from attend.core.step import Taken
from attend.errors import PermanentError, StoreError, UnreachableError
from attend.mcp import HttpServer, McpServer, mcp_events_source, stdio_server
from attend.settings import Settings
from attend.source import Emit, Source
from attend.source_setting import SourceSetting
from attend.store.redis import RedisStore

logger = logging.getLogger("attend")

HOLD_MS = 9000
"""How long a worker that died keeps others from a source. Two that read one do no harm: ids are known."""

LONG_ENOUGH_SECONDS = 60
"""How long a source must have been read for its end not to count towards a longer pause."""


async def read_sources(settings: Settings, app: Attend) -> None:
    """Read them all until cancelled, those that no other worker reads."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(6)}"
    async with asyncio.TaskGroup() as tasks:
        for source in settings.sources:
            tasks.create_task(_Reading(app, source, holder).run(), name=f"source {source.event}")


class _Reading:
    def __init__(self, app: Attend, source: SourceSetting, holder: str) -> None:
        self._app = app
        self._source = source
        self._holder = holder
        self._held_until = 0.0
        self._name = hashlib.sha256(msgspec.json.encode(source.place)).hexdigest()[:32]

    async def run(self) -> None:
        while True:
            if await self._holds():
                reading = asyncio.create_task(self._read())
                try:
                    while await self._holds():  # noqa: ASYNC110 - it is looked at, and held on to
                        await asyncio.sleep(HOLD_MS / 3000)
                finally:
                    reading.cancel()
                    await asyncio.wait([reading])
                    await self._let_go()
            await asyncio.sleep(HOLD_MS / 3000)

    async def _holds(self) -> bool:
        store, asked = self._app.store, asyncio.get_running_loop().time()
        try:
            held = not isinstance(store, RedisStore) or await store.hold(self._name, self._holder, HOLD_MS)
        except StoreError:
            return True  # Nothing can be committed meanwhile, by anybody.
        if held:
            self._held_until = asked + HOLD_MS / 1000
        return held

    async def _let_go(self) -> None:
        store = self._app.store
        if isinstance(store, RedisStore):
            with suppress(StoreError):
                await store.let_go(self._name, self._holder)

    async def _read(self) -> None:
        """Read it, again and again: what is wrong for good now may have been put right since."""
        loop = asyncio.get_running_loop()
        backoff = Backoff()
        shown = f"{self._source.event} into {self._source.scope}"
        while True:
            began = loop.time()
            try:
                await self._attach()
                logger.error("source %s: it ended", shown)
            except PermanentError as error:
                logger.error("source %s: %r; it is tried again", shown, str(error))
            except OSError as error:
                logger.error("source %s: its command cannot be started: %s", shown, error)
            except Exception:
                logger.exception("source %s", shown)
            if loop.time() - began > LONG_ENOUGH_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.pause())

    async def _attach(self) -> None:
        source = self._source
        if source.command is not None:
            program, *arguments = source.command
            async with stdio_server(program, arguments, env=source.env) as server:
                await self._attach_to(server)
        else:
            async with HttpServer(source.url or "", source.token) as server:
                await self._attach_to(server)

    async def _attach_to(self, server: McpServer) -> None:
        source = self._source
        events = mcp_events_source(
            server,
            source.event,
            source.arguments,
            key=source.key,
            mode=source.mode,
            poll_ms=source.poll_ms,
            clock=self._app.clock,
        )
        await self._app.attach(source.scope, _Fenced(events, lambda: self._held_until))


class _Fenced:
    """A source whose events are not taken once another worker may read it: that one's cursor is further on."""

    def __init__(self, source: Source, held_until: Callable[[], float]) -> None:
        self._source = source
        self._held_until = held_until

    @property
    def key(self) -> str:
        return self._source.key

    async def run(self, cursor: str | None, emit: Emit) -> None:
        async def fenced(events: NewEvents, cursor: str | None, *, gap: bool = False) -> Taken:
            if asyncio.get_running_loop().time() >= self._held_until():
                raise UnreachableError("this worker could not say for too long that it reads the source")
            return await emit(events, cursor, gap=gap)

        await self._source.run(cursor, fenced)
