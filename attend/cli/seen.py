"""How far a channel's reader has seen the news: a file, so that a restart goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from attend.cli.screen import complain


class Mark(Struct):
    """What was seen: everything up to `cursor`; with `greeted` also what was open when it first came."""

    cursor: str | None = None
    greeted: bool = False


class SeenFile:
    """The file. One that cannot be read or written is said so once, and does without."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failing = False

    def read(self) -> Mark:
        """What it says; where there is none, nothing was seen."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Mark)
        except FileNotFoundError:
            return Mark()
        except (OSError, msgspec.MsgspecError) as error:
            complain(f"{self._path} cannot be read, so it begins anew: {error}")
            return Mark()

    def write(self, mark: Mark) -> None:
        """Replace it whole, for its user alone."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.encode(mark))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, self._path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._failing = False
        except OSError as error:
            if not self._failing:
                complain(f"{self._path} cannot be written, so a restart will repeat what was seen: {error}")
            self._failing = True


def seen_path(data: Path, url: str, token: str | None) -> Path:
    """Where it is unless somebody says: one for each server and token. The token cannot be read from the name."""
    digest = hashlib.sha256(f"{url}\n{token or ''}".encode()).hexdigest()[:16]
    return data / f"channel-{digest}.json"
