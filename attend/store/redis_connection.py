"""redis-py's connections, packing commands in C and sending them without a task each.

redis-py packs in Python on asyncio, which takes longer than the server takes over a group of commits (measured:
8 of 13 microseconds a scope). And it sends through `asyncio.wait_for`, which on Python 3.11 costs a task and can
swallow a cancellation that comes as the send ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, cast

import hiredis
import redis.exceptions
from redis.asyncio.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection

# Its stub has it that a command is one word.
_pack = cast("Callable[[tuple[Any, ...]], bytes]", vars(hiredis)["pack_command"])


class _Packing:
    """Replaces how the connection class that it is put before packs and sends."""

    socket_timeout: float | None

    def pack_command(self, *args: Any) -> list[bytes]:
        """One command in the Redis protocol. A name of two words, such as CLIENT SETINFO, is sent as two."""
        name, *rest = args
        words = name.split() if isinstance(name, str) else [name]
        return [_pack((*words, *rest))]

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Send. Raises redis-py's `TimeoutError` and `ConnectionError`, as its own does."""
        untyped: Any = super()
        connection: Any = self
        if not connection.is_connected:
            await connection.connect()
        seconds, self.socket_timeout = self.socket_timeout, None
        try:
            async with asyncio.timeout(seconds):
                await untyped.send_packed_command(command, check_health)
        except TimeoutError:
            raise redis.exceptions.TimeoutError("Timeout writing to socket") from None
        finally:
            self.socket_timeout = seconds


class PackingConnection(_Packing, Connection):
    """By TCP."""


class PackingSSLConnection(_Packing, SSLConnection):
    """By TLS."""


class PackingUnixConnection(_Packing, UnixDomainSocketConnection):
    """By a unix socket."""


_PACKING: dict[Any, Any] = {
    Connection: PackingConnection,
    SSLConnection: PackingSSLConnection,
    UnixDomainSocketConnection: PackingUnixConnection,
}


class Pool(ConnectionPool):
    """A pool of those connections, without a limit.

    redis-py's own holds a lock while it connects, so that with a dead link each caller waits for all before it;
    and a call that is cancelled while it gives a connection back to its blocking pool takes that along.
    """

    def make_connection(self) -> Any:
        """A new connection of the packing class."""
        own: Any = self.connection_class
        self.connection_class = _PACKING.get(own, own)
        untyped: Any = super()
        return untyped.make_connection()

    async def get_connection(self, command_name: Any = None, *keys: Any, **options: Any) -> Any:
        """A connection that is connected. The arguments are redis-py's and say nothing here."""
        untyped: Any = self
        connection = untyped.get_available_connection()
        try:
            await self.ensure_connection(connection)
        except BaseException:
            await self.release(connection)
            raise
        return connection
