"""Recordings made up for tests, and judges that replays ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attend.core.types import Judgment
from attend.judges.base import JudgeInput
from attend.replay.recording import Recording, recording_of

DATA = Path(__file__).parents[3] / "shared" / "data"
"""Real streams, on a machine that has them."""

AT = 1_760_000_000_000
KINDS = {"*.failed": "closing", "user.*": "flush", "type": "continuous", "look": "passive"}


def line(scope: str, id: str | None, ms: int | None, name: str, text: str | None = None) -> dict[str, Any]:
    """A line of a recording, `ms` after its beginning."""
    made: dict[str, Any] = {"scope": scope, "name": name}
    if id is not None:
        made["id"] = id
    if ms is not None:
        made["at"] = AT + ms
    if text is not None:
        made["text"] = text
    return made


def body(*lines: dict[str, Any]) -> bytes:
    """Lines as a file."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def recorded(*lines: dict[str, Any]) -> Recording:
    """Lines as a recording."""
    return recording_of(body(*lines))


STORY = (
    line("ci", "a1", 0, "step.log", "installing"),
    line("ci", "a2", 300, "build.failed", "build 7 failed"),
    line("ops", "b1", 350, "look"),
    line("ci", "a3", 600, "step.log", "cleaning up"),
    line("ci", "a4", 2000, "user.said", "what happened?"),
    line("ops", "b2", 3000, "disk.failed", "sda1 is gone"),
    line("ci", "a5", 3_600_000, "build.failed", "build 8 failed"),
)
"""An hour in two scopes."""


async def shares(input: JudgeInput) -> Judgment:
    """Acts with a probability that the last event's text has at its end, or a tenth."""
    text = (input.window.events[-1].text or "").rpartition(" ")[2]
    act = float(text) if text.replace(".", "", 1).isdigit() else 0.1
    probabilities = {"interrupt": act, "note": (1 - act) * 0.75, "skip": (1 - act) * 0.25}
    return Judgment("note", probabilities, judge="shares")


async def nobody(input: JudgeInput) -> Judgment:
    """A judge that must not be asked."""
    raise AssertionError(f"asked about {input.window.event_ids}")
