"""Each error of redis-py becomes one of attend that says what to do."""

from __future__ import annotations

import pytest
import redis.exceptions

from attend.errors import StoreCorruptError, StoreUnavailableError
from attend.store.redis_errors import translate


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (redis.exceptions.BusyLoadingError("Redis is loading"), StoreUnavailableError, "loading its data"),
        (redis.exceptions.ResponseError("MISCONF Redis is configured"), StoreUnavailableError, "disk"),
        (redis.exceptions.ResponseError("CLUSTERDOWN down"), StoreUnavailableError, "cluster is down"),
        (redis.exceptions.ResponseError("TRYAGAIN keys"), StoreUnavailableError, "by itself"),
        (redis.exceptions.ResponseError("MOVED 1 host:1"), StoreUnavailableError, "failover pair"),
        (redis.exceptions.ResponseError("MASTERDOWN Link"), StoreUnavailableError, "lost its primary"),
        (
            redis.exceptions.ResponseError("Error running script: @user_script:4: -OOM command not allowed"),
            StoreUnavailableError,
            "out of memory",
        ),
        (redis.exceptions.NoPermissionError("this user"), StoreUnavailableError, "ACL"),
        (
            redis.exceptions.ResponseError("Error running script: WRONGTYPE Operation"),
            StoreCorruptError,
            "WRONGTYPE",
        ),
        (redis.exceptions.ResponseError("what is this"), StoreUnavailableError, "refused a command"),
        (
            redis.exceptions.ConnectionError(redis.exceptions.AuthenticationError("required")),
            StoreUnavailableError,
            "password",
        ),
        (OSError("broken"), StoreUnavailableError, "cannot be reached: broken"),
        (TimeoutError(), StoreUnavailableError, "in time"),
        (
            redis.exceptions.ResponseError("unknown command 'BOOM'"),
            StoreUnavailableError,
            "refused a command",
        ),
    ],
)
def test_what_redis_says_becomes_what_to_do(error: Exception, kind: type[Exception], said: str) -> None:
    found = translate(error)
    assert type(found) is kind
    assert said in str(found)
