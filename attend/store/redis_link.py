"""The connections to Redis. Everything that attend asks of redis-py goes through here.

No command is tried again in here: a caller knows which of its own may be. A connection that broke is replaced at
the next command, without waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from attend.errors import ConfigError, StoreUnavailableError
from attend.store import scripts
from attend.store.redis_connection import Pool
from attend.store.redis_errors import translated


class Link:
    """Two sets of connections, one for commands and one for those that block, and the scripts.

    Raises `ConfigError` for a URL that is none. Every method raises `StoreUnavailableError` or
    `StoreCorruptError`. A command has `timeout_ms` to connect and as much to answer; one that blocks has that on
    top of the time it blocks for. With a `client` of the caller's own, that one is used for both and is not
    closed; its socket timeout must be longer than any blocking call.
    """

    def __init__(self, url: str, client: Any, timeout_ms: int, max_connections: int) -> None:
        self._timeout = timeout_ms / 1000
        self._places = asyncio.Semaphore(max_connections)
        self._owned: list[Any] = []
        self._client: Any = client
        self._blocking: Any = client
        if client is None:
            self._client = self._connect(url, self._timeout)
            # What blocks is timed from outside, by how long it was asked to block for.
            self._blocking = self._connect(url, None)
        self._scripts: dict[str, Any] = {
            name: self._client.register_script(scripts.source(name)) for name in scripts.NAMES
        }

    def _connect(self, url: str, timeout: float | None) -> Any:
        try:
            pool: Any = Pool.from_url(url)  # pyright: ignore[reportUnknownMemberType]
        except ValueError as error:
            raise ConfigError(f"store is {url!r}, it must be a Redis URL: {error}") from error
        # Set here and not above, where a query in the URL would win.
        pool.connection_kwargs.update(
            decode_responses=False,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=timeout,
            socket_connect_timeout=self._timeout,
        )
        client: Any = Redis(connection_pool=pool)
        self._owned.append(client)
        return client

    @asynccontextmanager
    async def _place(self) -> AsyncGenerator[None, None]:
        """One of the connections there may be at once, with errors translated."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._places.acquire()
        except TimeoutError:
            raise StoreUnavailableError(
                "every connection to the Redis server is busy; look at its load and the network"
            ) from None
        try:
            with translated():
                yield
        finally:
            self._places.release()

    async def load_scripts(self) -> None:
        """Have the server compile every script, so that one it cannot run is known at once."""
        async with self._place():
            for name in scripts.NAMES:
                await self._client.script_load(scripts.source(name))

    async def call(self, *command: Any) -> Any:
        """One command's answer."""
        async with self._place():
            return await self._client.execute_command(*command)

    async def together(self, *commands: Sequence[Any]) -> Any:
        """Several commands' answers, with nobody else's between them; one round trip."""
        async with self._place(), self._client.pipeline(transaction=True) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute()

    async def run(self, script: str, keys: Sequence[Any], arguments: Sequence[Any]) -> Any:
        """A script's answer; a server that does not know the script, or no more, is given it."""
        async with self._place():
            return await self._scripts[script](keys=keys, args=arguments)

    async def block(self, block_ms: int, *command: Any) -> Any:
        """The answer of a command that blocks for up to `block_ms`."""
        with translated():
            async with asyncio.timeout(block_ms / 1000 + self._timeout):
                return await self._blocking.execute_command(*command)

    async def close(self) -> None:
        """Close every connection that is not the caller's."""
        for client in self._owned:
            with suppress(StoreUnavailableError), translated():
                await client.connection_pool.disconnect()
