"""Real worker processes on a real server, with judges written to a folder."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from attend.core import codec
from attend.core.types import Summary
from attend.store.base import ScopeStore

ARQ = (sys.executable, "-m", "arq", "attend.workers.WorkerSettings")
ATTEND = (sys.executable, "-m", "attend", "worker")


class Crew:
    """Worker processes that share settings; `notes` is a file that judges and sinks may write lines to."""

    def __init__(self, folder: Path, url: str, code: str, **settings: str) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.notes.touch()
        (folder / "ours.py").write_text(_HEAD + textwrap.dedent(code), encoding="utf-8")
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")},
            "ATTEND_STORE": url,
            "ATTEND_KINDS": '{"u":"flush"}',
            "NOTES": str(self.notes),
            **{f"ATTEND_{name.upper()}": value for name, value in settings.items()},
        }
        self.members: list[subprocess.Popen[bytes]] = []
        self.deaths = 0

    @property
    def log(self) -> str:
        """What they wrote to stderr."""
        return (self.folder / "log").read_text(encoding="utf-8")

    def start(self, command: Iterable[str] = ATTEND) -> subprocess.Popen[bytes]:
        """One more."""
        with (self.folder / "log").open("ab") as log:
            member = subprocess.Popen(
                list(command), env=self._environ, cwd=self.folder, stdout=log, stderr=log
            )
        self.members.append(member)
        return member

    def replace_dead(self) -> None:
        """What a supervisor does: start another for each that died."""
        for member in list(self.members):
            if member.poll() is not None:
                self.members.remove(member)
                self.deaths += 1
                self.start()

    def stop(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        for member in self.members:
            if member.poll() is None:
                member.send_signal(signal.SIGTERM)
        return [member.wait(30) for member in self.members]

    def kill(self) -> None:
        """kill -9 of all."""
        for member in self.members:
            member.kill()
            member.wait(30)

    def noted(self) -> list[list[str]]:
        """The lines in the notes, split at spaces."""
        return [line.split() for line in self.notes.read_text(encoding="utf-8").splitlines()]


_HEAD = """
import asyncio, os, signal, time
from attend import Judgment, PermanentError, rule

def note(*words):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(" ".join(map(str, (os.getpid(), *words))) + "\\n")

"""


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition; fails after a generous time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        await asyncio.sleep(0.02)


async def decided(store: ScopeStore, count: int, seconds: float = 60) -> list[Summary]:
    """The log, once it has so many rows."""
    deadline = time.monotonic() + seconds
    while True:
        page = await store.log.read(await store.log.start(), 10_000)
        if len(page.rows) >= count:
            return [codec.decode_summary(row.summary) for row in page.rows]
        assert time.monotonic() < deadline, f"{len(page.rows)} of {count} decisions in time"
        await asyncio.sleep(0.02)
