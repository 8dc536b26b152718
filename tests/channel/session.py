"""A session that has loaded the channel: `attend channel` as a process, spoken to as Claude Code does."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WAIT = 45.0


class Session:
    """The channel's process. Every line that it writes is read as JSON-RPC, or the test fails."""

    def __init__(self, url: str, state: Path, *flags: str, token: str = "all", start: bool = True) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
        arguments = ["channel", "--url", url, "--token", token, "--state", str(state), *flags]
        self._log = (state.parent / f"{state.name}.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attend.cli.main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environ,
        )
        self.raw: list[bytes] = []
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._pushes: list[dict[str, Any]] = []
        self._answers: dict[object, dict[str, Any]] = {}
        self._ids = 0
        self._state = state
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if start:
            self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.raw.append(line)
                self._messages.put(json.loads(line))
        self._messages.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """The session ends; the channel's exit code."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(30)
        self._reader.join(30)
        self._log.close()
        for line in self.raw:
            assert json.loads(line)["jsonrpc"] == "2.0"
        return code

    def ready(self) -> Self:
        """Wait until it knows from where on it hears."""
        until = time.monotonic() + WAIT
        while not self._has_begun():
            assert time.monotonic() < until, "it never began to hear"
            time.sleep(0.05)
        return self

    def _has_begun(self) -> bool:
        try:
            return bool(json.loads(self._state.read_bytes())["cursor"])
        except (OSError, ValueError):
            return False

    def write(self, message: object) -> None:
        """A message, or a line as it is."""
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request, and its answer."""
        self._ids += 1
        self.write({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        return self.answer(self._ids)

    def answer(self, id: object) -> dict[str, Any]:
        """The answer to a request."""
        while id not in self._answers:
            self._take(WAIT)
        return self._answers.pop(id)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answered."""
        found: dict[str, Any] = self.ask("tools/call", name=name, arguments=arguments)["result"]
        return found

    def pushed(self, count: int = 1, seconds: float = WAIT) -> list[dict[str, Any]]:
        """The next messages that were pushed."""
        until = time.monotonic() + seconds
        while len(self._pushes) < count:
            self._take(until - time.monotonic())
        found, self._pushes = self._pushes[:count], self._pushes[count:]
        return found

    def quiet(self, seconds: float) -> bool:
        """Whether nothing is pushed for so long."""
        until = time.monotonic() + seconds
        while not self._pushes and time.monotonic() < until:
            try:
                self._take(until - time.monotonic())
            except queue.Empty:
                break
        return not self._pushes

    def _take(self, seconds: float) -> None:
        message = self._messages.get(timeout=max(0.01, seconds))
        assert message is not None, "the channel ended"
        if "method" in message:
            assert message["method"] == "notifications/claude/channel"
            self._pushes.append(message["params"])
        else:
            self._answers[message["id"]] = message


def subjects(pushes: Sequence[dict[str, Any]]) -> list[str]:
    """What pushed messages are about."""
    return [push["meta"]["subject"] for push in pushes]
