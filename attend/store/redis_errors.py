"""What redis-py raises, as errors of attend that say what to do."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import redis.exceptions

from attend.errors import StoreCorruptError, StoreError, StoreUnavailableError

# The server's code word, which a script's error may carry anywhere, and what to do about it.
_ADVICE = {
    "OOM": "it is out of memory; raise its maxmemory, or keep fewer decisions",
    "LOADING": "it is loading its data after a start; this ends by itself",
    "READONLY": "it is a replica; give the address of the primary, or wait until the failover is done",
    "BUSY": "a script of somebody else is blocking it; end that with SCRIPT KILL",
    "MISCONF": "it cannot save to disk and refuses writes; free its disk or look in its log",
    "NOREPLICAS": "it has fewer replicas than min-replicas-to-write asks for; bring them back",
    "MASTERDOWN": "it is a replica that has lost its primary; give the address of the primary",
    "CLUSTERDOWN": "its cluster is down; bring the missing nodes back",
    "TRYAGAIN": "its cluster is moving the keys; this ends by itself",
    "MOVED": "it is a node of a cluster that keeps the keys elsewhere; attend needs one server or a failover pair",
    "ASK": "it is a node of a cluster that is moving the keys; attend needs one server or a failover pair",
    "CROSSSLOT": "it is a node of a cluster; attend needs one server or a failover pair",
    "NOAUTH": "it asks for another user or password; give them in the URL, redis://user:password@host",
    "NOPERM": "its ACL forbids what attend does; allow the keys attend:* with all data commands and scripts",
    "UNKILLABLE": "a script that has written is blocking it; it ends by itself, or with SHUTDOWN NOSAVE",
}
_CODE = re.compile(r"(?<![A-Za-z_])(" + "|".join(_ADVICE) + r")(?![A-Za-z_])")


@contextmanager
def translated() -> Generator[None, None, None]:
    """Raise `StoreUnavailableError` or `StoreCorruptError` where redis-py, or the socket below, raised its own."""
    try:
        yield
    except (redis.exceptions.RedisError, OSError, TimeoutError) as error:
        raise translate(error) from error


def translate(error: Exception) -> StoreError:
    """The error of attend for one of redis-py's."""
    if error.args and isinstance(error.args[0], redis.exceptions.RedisError):
        return translate(error.args[0])  # what the server said while the connection was made
    text = str(error)
    if "WRONGTYPE" in text:
        return StoreCorruptError(f"a key holds something attend never wrote: {text}")
    code = _code_of(error, text)
    if code is not None:
        return StoreUnavailableError(f"the Redis server cannot serve now: {_ADVICE[code]} ({text})")
    if isinstance(error, (redis.exceptions.TimeoutError, TimeoutError)):
        return StoreUnavailableError(
            "the Redis server did not answer in time; look at its load and the network"
        )
    if isinstance(error, (redis.exceptions.ConnectionError, OSError)):
        return StoreUnavailableError(f"the Redis server cannot be reached: {text or type(error).__name__}")
    return StoreUnavailableError(f"the Redis server refused a command: {text}")


# Where redis-py takes the code word off the message, the class still tells. A class comes before the one it is of.
_CLASSES = {
    redis.exceptions.BusyLoadingError: "LOADING",
    redis.exceptions.ReadOnlyError: "READONLY",
    redis.exceptions.OutOfMemoryError: "OOM",
    redis.exceptions.MasterDownError: "MASTERDOWN",
    redis.exceptions.ClusterDownError: "CLUSTERDOWN",
    redis.exceptions.TryAgainError: "TRYAGAIN",
    redis.exceptions.MovedError: "MOVED",
    redis.exceptions.AskError: "ASK",
    redis.exceptions.NoPermissionError: "NOPERM",
    redis.exceptions.AuthenticationWrongNumberOfArgsError: "NOAUTH",
    redis.exceptions.AuthenticationError: "NOAUTH",
}


def _code_of(error: Exception, text: str) -> str | None:
    for kind, code in _CLASSES.items():
        if isinstance(error, kind):
            return code
    found = _CODE.search(text) if isinstance(error, redis.exceptions.ResponseError) else None
    return None if found is None else found[1]
