"""A stream read ahead of whoever commits what it brings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from attend.client.wire import Message

PATIENCE_SECONDS = 1.0
"""How long a stream waits for room: a burst on a store that is well is taken in less."""


class OverflowedError(Exception):
    """Raised where more messages wait than may: the store is slower than the stream."""


class IdleError(Exception):
    """Raised where nothing came for too long, no heartbeat either."""


class Ahead:
    """Messages that came and were not taken yet, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: list[Message] = []
        self._ended: Exception | None = None
        self._over = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()

    @asynccontextmanager
    async def reading(self, messages: AsyncGenerator[Message]) -> AsyncGenerator[None]:
        """Read while this is entered."""
        task = asyncio.create_task(self._fill(messages))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _fill(self, messages: AsyncGenerator[Message]) -> None:
        try:
            async for message in messages:
                if len(self._waiting) >= self._most:
                    await self._wait_for_room()
                self._waiting.append(message)
                self._changed.set()
        except Exception as error:  # noqa: BLE001 - it is raised where the messages are taken
            self._ended = error
        self._over = True
        self._changed.set()

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            raise OverflowedError from None

    async def take(self, idle_ms: int) -> list[Message]:
        """All that waits, once there is something; nothing where the stream has ended.

        Raises what reading raised, once all before it is taken, so that even a stream that always overflows gets
        on; and `IdleError`.
        """
        try:
            await asyncio.wait_for(self._changed.wait(), idle_ms / 1000)
        except TimeoutError:
            raise IdleError from None
        taken, self._waiting = self._waiting, []
        self._room.set()
        if not taken and self._ended is not None:
            raise self._ended
        if not self._over or not taken:
            self._changed.clear()
        return taken
