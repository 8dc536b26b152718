"""`attend serve` as its user runs it: a real process, its start line, NDJSON over HTTP."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx


class Service:
    """A running `attend` command that prints a URL when it is ready.

    Stopped, or killed, by the process it started; what it printed is in `lines`.
    """

    def __init__(self, *arguments: str, ready: str = r"http://[\w.:\[\]-]+", log: Path) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
        self.lines: list[str] = []
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "attend.cli.main", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environ,
            )
        self.log = log
        self._found = threading.Event()
        self._ready = re.compile(ready)
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line)
                match = self._ready.search(line)
                if match and not self.url:
                    self.url = match[0]
                    self._found.set()
        self._found.set()

    def wait_ready(self, seconds: float = 60) -> Service:
        """Wait for the start line."""
        self._found.wait(seconds)
        if not self.url:
            raise RuntimeError(f"it did not start:\n{''.join(self.lines)}\n{self.log.read_text()[-4000:]}")
        return self

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(30)
        self._reader.join(30)

    def stop(self, seconds: float = 30) -> int:
        """SIGTERM once, and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        return code


def post(url: str, lines: Sequence[bytes], *, token: str | None = None) -> dict[str, Any]:
    """One ingest body, sent again until it is taken; the reply."""
    headers = {"content-type": "application/x-ndjson"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    deadline = time.monotonic() + 120
    while True:
        try:
            answer = httpx.post(f"{url}/v1/ingest", content=b"\n".join(lines), headers=headers, timeout=60)
        except httpx.TransportError:
            answer = None
        if answer is not None and answer.status_code == 200:
            return answer.json()  # type: ignore[no-any-return]
        if answer is not None and answer.status_code not in (429, 503):
            raise AssertionError(f"{answer.status_code}: {answer.text}")
        if time.monotonic() > deadline:
            raise AssertionError("it was not taken within two minutes")
        time.sleep(0.1)


def post_to_any(urls: Sequence[str], lines: Sequence[bytes], turn: int, *, token: str | None = None) -> None:
    """Post one body until one of two APIs has taken all of it; the `turn` says which is tried first."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    for url in itertools.islice(itertools.cycle(urls), turn % 2, None):
        try:
            answer = httpx.post(f"{url}/v1/ingest", content=b"\n".join(lines), headers=headers, timeout=20)
        except httpx.TransportError:
            time.sleep(0.1)
            continue
        if answer.status_code == 200:
            reply = answer.json()
            assert reply["rejected"] == []
            assert reply["accepted"] + reply["duplicates"] == len(lines)
            return
        assert answer.status_code in (429, 503), answer.text


def post_all(url: str, lines: Sequence[bytes], size: int = 200) -> dict[str, int]:
    """All lines in bodies of `size`; the counts added up. No line may be rejected."""
    total = {"accepted": 0, "duplicates": 0}
    for start in range(0, len(lines), size):
        reply = post(url, lines[start : start + size])
        assert reply["rejected"] == [], reply["rejected"][:3]
        for name in total:
            total[name] += reply[name]
    return total


def split(data: bytes) -> list[bytes]:
    """The lines of NDJSON."""
    return [line for line in data.split(b"\n") if line.strip()]


def ids(events: Iterable[dict[str, Any]]) -> list[str]:
    """The ids of occurrences, in order."""
    return [event["eventId"] for event in events]
