"""A verdict without a judge: what `rule` answers, and what stands in for a judge that is down."""

from __future__ import annotations

from attend.core.types import Judgment, Reason, Route

GUESS = 0.5
"""How sure it is of a queue: it knows nothing of what the events say, so a cascade asks on."""


def ruled(reason: Reason) -> Judgment:
    """Interrupts where someone addressed the agent, queues otherwise. It is sure of the first only."""
    if reason is Reason.FLUSH:
        return Judgment(Route.INTERRUPT, confidence=1.0, judge="rule")
    return Judgment(Route.QUEUE, confidence=GUESS, judge="rule")
