"""The events that are sent: what an agent's tools report, about 200 bytes a line."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator

_MARK = b"########"


def line(scope: str, id: str, name: str = "tool.finished", n: int = 0) -> bytes:
    """One event as a line, without its end."""
    data = {"tool": "bash", "exitCode": n % 3, "durationMs": 1200 + n, "path": "src/app/main.py"}
    event = {"scope": scope, "id": id, "at": 1_760_570_000_123 + n, "name": name, "data": data}
    return json.dumps(event | {"text": "ran the tests of src/app: 12 passed, 1 skipped"}).encode()


class Bodies:
    """Bodies of `lines` events over `scopes` scopes, line by line in turn; no id comes twice."""

    def __init__(self, lines: int, scopes: int) -> None:
        self._templates = itertools.cycle(
            b"\n".join(
                line(f"session/{(first + n) % scopes:04}", f"{_MARK.decode()}-{n:04}", n=n)
                for n in range(lines)
            )
            for first in range(0, scopes, lines)
        )
        run = secrets.token_hex(2)
        self._marks = (f"{run}{n:04x}".encode() for n in itertools.count())

    def __iter__(self) -> Iterator[bytes]:
        """One body after another, without end."""
        return self

    def __next__(self) -> bytes:
        """A body that was not sent before."""
        return next(self._templates).replace(_MARK, next(self._marks))
