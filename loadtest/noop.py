"""The reference of the worker: arq with a job that does nothing, told to waste no time: `python -m loadtest.noop SOCKET`."""

from __future__ import annotations

import sys
from typing import Any

from arq.connections import RedisSettings
from arq.worker import Worker, func


async def nothing(ctx: dict[Any, Any], *_: Any, **__: Any) -> None:
    """A job."""


def main(socket: str) -> None:
    """Work until SIGTERM, on the server at this socket.

    As many jobs at once as a lane of attend has slots, looked for nearly without a pause, no results to keep, and
    no logging.
    """
    Worker(
        functions=[func(nothing)],
        redis_settings=RedisSettings(unix_socket_path=socket),
        max_jobs=32,
        poll_delay=0.01,
        keep_result=0,
        log_results=False,
    ).run()


if __name__ == "__main__":
    main(sys.argv[1])
