"""redis-py's connections, packing commands in C.

redis-py packs in Python on asyncio, which takes longer than the server takes over a group of commits (measured:
8 of 13 microseconds a scope).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import hiredis
from redis.asyncio.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection

# Its stub has it that a command is one word.
_pack = cast("Callable[[tuple[Any, ...]], bytes]", vars(hiredis)["pack_command"])


class _Packing:
    """Replaces `pack_command` of the connection class that it is put before."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """One command in the Redis protocol. A name of two words, such as CLIENT SETINFO, is sent as two."""
        name, *rest = args
        words = name.split() if isinstance(name, str) else [name]
        return [_pack((*words, *rest))]


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
