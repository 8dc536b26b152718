"""What a worker process is to arq: its queue, its connections, its upkeep job."""

from __future__ import annotations

import os
import secrets
import socket
from typing import Any

import msgspec
from arq import cron
from arq.connections import ArqRedis
from redis.asyncio import BlockingConnectionPool

from attend.app import Attend
from attend.settings import Settings
from attend.workers.upkeep import upkeep

POLL_SECONDS = 1.0
"""How often arq looks at its queue. It only serves upkeep: lanes are woken by the store."""

SOCKET_SECONDS = 5.0
CONNECTIONS = 8
UPKEEP_SECONDS = 300
COMPLETION_SECONDS = 5
"""How long arq waits for its jobs on SIGTERM; without it `on_shutdown` is skipped on an early one."""


def queue_of(prefix: str) -> str:
    """The queue of a deployment's workers. It shares the deployment's hash tag."""
    return f"attend:{{{prefix}}}:arq"


def pool_of(settings: Settings) -> ArqRedis:
    """Connections for arq. They have a timeout, so that a frozen link does not hang the worker."""
    pool: Any = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
        settings.store or "",
        max_connections=CONNECTIONS,
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
    )
    return ArqRedis(
        pool_or_conn=pool,
        job_serializer=msgspec.msgpack.encode,
        job_deserializer=msgspec.msgpack.decode,
        default_queue_name=queue_of(settings.prefix),
    )


def arguments(settings: Settings, app: Attend) -> dict[str, Any]:
    """What `arq.Worker` is made with: a queue and a health key of its own, and a minute's upkeep in the fleet."""
    queue = queue_of(settings.prefix)
    return {
        "ctx": {"attend": app, "settings": settings},
        "cron_jobs": [
            # The name is the job's key in Redis, which arq puts under no prefix of ours.
            cron(upkeep, name=f"{queue}:upkeep", second=0, timeout=UPKEEP_SECONDS, keep_result=120)
        ],
        "queue_name": queue,
        "redis_pool": pool_of(settings),
        "health_check_key": f"{queue}:health:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}",
        "poll_delay": POLL_SECONDS,
        "job_completion_wait": COMPLETION_SECONDS,
        # Not pickle: whoever can write to the server could otherwise run code here.
        "job_serializer": msgspec.msgpack.encode,
        "job_deserializer": msgspec.msgpack.decode,
        "max_jobs": 2,
    }
