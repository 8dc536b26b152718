"""The API that ingest is measured on, with the reference mounted beside it: `python -m loadtest.target REDIS_URL`."""

from __future__ import annotations

import socket
import sys

import uvicorn

from attend import Attend, RedisStore
from attend.api import build
from loadtest.reference import endpoint


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            host, port = each.getsockname()
            print(f"http://{host}:{port}", flush=True)


def main(url: str) -> None:
    """Serve until SIGTERM; says where on a line of its own once it does."""
    application = build(Attend(store=RedisStore(url, prefix="ingest")))
    application.register(endpoint(url))
    config = uvicorn.Config(
        application, lifespan="on", ws="none", log_config=None, access_log=False, server_header=False
    )
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as attend's own server does
    _Server(config).run([listener])


if __name__ == "__main__":
    main(sys.argv[1])
