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


def pack_in_c(pool: ConnectionPool) -> None:
    """Have a pool that has made no connection yet make its connections of these classes."""
    found: Any = pool.connection_class
    pool.connection_class = _PACKING.get(found, found)
