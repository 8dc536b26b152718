"""The command as its user meets it: started on pipes, or on a terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any


def line(scope: str, id: str, name: str = "log", **more: Any) -> bytes:
    """One event as a line."""
    return json.dumps({"scope": scope, "id": id, "name": name, **more}).encode() + b"\n"


def start(
    *arguments: str,
    stdin: Any = None,
    output: Any = subprocess.PIPE,
    environ: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start the command; stdout and stderr are pipes, or both the one thing given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
    return subprocess.Popen(
        [sys.executable, "-m", "attend", *arguments],
        stdin=stdin,
        stdout=output,
        stderr=output,
        env={**clean, **(environ or {})},
    )


class Terminal:
    """A command on a terminal of its own: everything it wrote there, as it came."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        environ = {"TERM": "xterm-256color", "COLUMNS": "100"}
        self.process = start(*arguments, stdin=theirs, output=theirs, environ=environ)
        os.close(theirs)
        self.written = ""

    def read_until(self, words: str, seconds: float = 60) -> str:
        """Read until it wrote some words, or ended."""
        end = time.monotonic() + seconds
        while words not in self.written and time.monotonic() < end:
            ready, _, _ = select.select([self._ours], [], [], 0.1)
            if ready:
                try:
                    data = os.read(self._ours, 65536)
                except OSError:
                    break
                self.written += data.decode(errors="replace")
        assert words in self.written, self.written[-2000:]
        return self.written

    def interrupt(self) -> int:
        """Control-C, and its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        """Wait for its end, reading on, and its exit code."""
        while self.process.poll() is None:
            ready, _, _ = select.select([self._ours], [], [], 0.1)
            if ready:
                try:
                    self.written += os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    break
        code = self.process.wait(60)
        os.close(self._ours)
        return code
