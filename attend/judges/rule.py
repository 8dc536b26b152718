"""The judge that needs no network."""

from __future__ import annotations

from attend.core.types import Judgment, Reason, Route
from attend.judges.base import JudgeInput


async def rule(input: JudgeInput, /) -> Judgment:
    """Interrupts when someone addressed the agent, queues otherwise."""
    interrupts = input.window.reason is Reason.FLUSH
    return Judgment(Route.INTERRUPT if interrupts else Route.QUEUE, judge="rule")
