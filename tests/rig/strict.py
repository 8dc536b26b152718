"""JSON as the strictest reader takes it: UTF-8 without a flaw, and nothing that is Python's own."""

from __future__ import annotations

import json
from typing import Any

import httpx


def _no(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def strict(data: bytes) -> Any:
    """The value of some JSON. Raises where a strict reader would."""
    return json.loads(data.decode("utf-8", "strict"), parse_constant=_no)


def strict_answer(answer: httpx.Response) -> Any:
    """The value of an answer in JSON, or of the last message of one that is a stream of them."""
    data = answer.content
    if answer.headers["content-type"].startswith("text/event-stream"):
        for line in data.split(b"\n"):
            if line.startswith(b"data: "):
                strict(line[6:])
        data = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: ")][-1]
    return strict(data)
