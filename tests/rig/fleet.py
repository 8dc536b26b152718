"""A fleet as its operator runs it: `attend api` and `attend worker` processes behind one server."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx

from tests.rig.service import Service
from tests.servers import Server


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Fleet:
    """API and worker processes on one server, all with the same flags; a killed member is started again.

    `api_store` is another way for the APIs to reach the server, such as a slow link.
    """

    def __init__(
        self,
        server: Server,
        folder: Path,
        *flags: str,
        apis: int = 1,
        workers: int = 1,
        api_store: str | None = None,
    ) -> None:
        self.server = server
        self._stores = {"api": api_store or server.url, "worker": server.url}
        self._folder = folder
        self._flags = flags
        self._ports = [free_port() for _ in range(apis)]
        self._worker_count = workers
        self.apis: list[Service] = []
        self.workers: list[Service] = []

    @property
    def urls(self) -> list[str]:
        """Where the APIs are, whether they answer now or not."""
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    def start(self) -> None:
        """Start all, and wait for the APIs."""
        self.apis = [self._api(n) for n in range(len(self._ports))]
        self.workers = [self._worker() for _ in range(self._worker_count)]
        for api in self.apis:
            api.wait_ready()

    def kill(self, turn: int) -> None:
        """kill -9 of one member, in turn, and a new one in its place."""
        member = turn % (len(self.apis) + len(self.workers))
        if member < len(self.apis):
            self.apis[member].kill()
            self.apis[member] = self._api(member)
        else:
            member -= len(self.apis)
            self.workers[member].kill()
            self.workers[member] = self._worker()

    def ready(self) -> list[int]:
        """The status of each API's readiness."""
        return [httpx.get(f"{url}/readyz", timeout=20).status_code for url in self.urls]

    def stop(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        return [service.stop() for service in (*self.apis, *self.workers)]

    def _api(self, n: int) -> Service:
        return self._member("api", "--port", str(self._ports[n]))

    def _worker(self) -> Service:
        return self._member("worker", ready=r"worker")

    def _member(self, command: str, *arguments: str, ready: str = r"http://[\w.:]+") -> Service:
        store = ("--store", self._stores[command])
        log = self._folder / f"{command}.log"
        return Service(command, *store, *self._flags, *arguments, ready=ready, log=log)
