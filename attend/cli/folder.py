"""The bundled server's folder: where it is, who holds it, and what lies in it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from attend.errors import ConfigError
from attend.option import SOCKET_PATH_BYTES


def default_data(environ: Mapping[str, str]) -> Path:
    """The user's data folder for attend: Application Support on macOS, the XDG one elsewhere."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "attend"
    given = environ.get("XDG_DATA_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share") / "attend"


def try_lock(path: Path) -> int | None:
    """Take the lock that a file stands for; None when another process has it. The lock goes with its last handle."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle


class Folder:
    """A folder that one `attend serve` has to itself.

    Two locks are kept in it. `serve.lock` is held by the serve process. `server.lock` is held by the database
    server it started, which inherits the handle: as long as it is taken, some server writes here, whatever
    became of the process that started it.
    """

    def __init__(self, path: Path, lock: int, *, temporary: bool) -> None:
        self.path = path
        self.temporary = temporary
        self._lock = lock

    @classmethod
    def take(cls, data: Path, place: str) -> Folder:
        """Take the folder of lasting data under `data`, made when missing.

        Raises `ConfigError` when it cannot be used or another serve has it; `place` is where it was given.
        """
        path = data / "valkey"
        try:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            path = path.resolve()
            path.chmod(0o700)
            lock = try_lock(path / "serve.lock")
        except OSError as error:
            raise ConfigError(
                f"{place}: {error.filename or path}: {error.strerror}; give a folder that can be written"
            ) from None
        if lock is None:
            holder = (path / "serve.lock").read_text(encoding="ascii").strip() or "unknown"
            raise ConfigError(
                f"{place}: {data} is in use by another attend serve (process {holder}); "
                "stop that one, or give this one another --data or --prefix on a --store of yours"
            )
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        return cls(path, lock, temporary=False)

    @classmethod
    def temporary_one(cls) -> Folder:
        """A new folder, deleted when it is closed. Those of serves that were killed are deleted now."""
        for left in Path(tempfile.gettempdir()).glob("attend-memory-*"):
            _sweep(left)
        while True:
            path = Path(tempfile.mkdtemp(prefix="attend-memory-"))
            lock = try_lock(path / "serve.lock")
            if lock is not None:
                return cls(path, lock, temporary=True)

    @property
    def socket(self) -> Path:
        """Where its server listens: in it, or in a folder of ours under /tmp where that path would be too long."""
        near = self.path / "valkey.sock"
        if len(os.fsencode(near)) <= SOCKET_PATH_BYTES:
            return near
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        folder = Path("/tmp") / f"attend-{os.getuid()}-{name}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ConfigError(f"{folder} should be a folder that only you can open; remove it")
        return folder / "valkey.sock"

    @property
    def pid_file(self) -> Path:
        """Where its server writes its process id."""
        return self.path / "valkey.pid"

    @property
    def log_file(self) -> Path:
        """Where its server writes what it has to say."""
        return self.path / "valkey.log"

    @property
    def server_lock(self) -> Path:
        """The file whose lock the server holds."""
        return self.path / "server.lock"

    def close(self) -> None:
        """Let go of it; a temporary one is deleted."""
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _sweep(left: Path) -> None:
    """Delete a temporary folder that neither a serve nor a server holds any more."""
    held: list[int] = []
    if not (left / "serve.lock").exists():
        return
    with contextlib.suppress(OSError):
        for name in ("serve.lock", "server.lock"):
            if name == "server.lock" and not (left / name).exists():
                continue
            lock = try_lock(left / name)
            if lock is None:
                break
            held.append(lock)
        else:
            shutil.rmtree(left, ignore_errors=True)
    for lock in held:
        os.close(lock)
