"""The judge that needs no network."""

from __future__ import annotations

from attend.core.types import Judgment, Reason, Route
from attend.judges.base import JudgeInput

GUESS = 0.5
"""How sure `rule` is of a queue: it knows nothing of what the events say, so a cascade asks on."""


async def rule(input: JudgeInput, /) -> Judgment:
    """Interrupts when someone addressed the agent, queues otherwise. It is sure of the first only."""
    if input.window.reason is Reason.FLUSH:
        return Judgment(Route.INTERRUPT, confidence=1.0, judge="rule")
    return Judgment(Route.QUEUE, confidence=GUESS, judge="rule")
