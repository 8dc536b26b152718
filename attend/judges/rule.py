"""The judge that needs no network."""

from __future__ import annotations

from attend.core.ruling import ruled
from attend.core.types import Judgment
from attend.judges.base import JudgeInput


async def rule(input: JudgeInput, /) -> Judgment:
    """Interrupts when someone addressed the agent, queues otherwise. It is sure of the first only."""
    return ruled(input.window.reason)
