"""What a sink is."""

from __future__ import annotations

from typing import Protocol

from attend.core.types import DeadLetter, Decision


class Sink(Protocol):
    """Hands decisions to the agent: one at a time per scope, oldest first, each at least once.

    After a crash a decision may come again with the same id, so make it idempotent on `decision.id`, which is
    unique across scopes. What it raises is retried with backoff, no earlier than its `retry_after_ms` where it has
    that; `PermanentError` makes a dead letter at once. One with an `aclose` has that called when attend closes.
    """

    async def deliver(self, decision: Decision) -> None:
        """Take one decision. Cancelled when its time is over."""
        ...


class DeadLetterHandler(Protocol):
    """Takes a window that no judge or sink could. It is asked again, with capped backoff, until it does not raise."""

    async def __call__(self, letter: DeadLetter, /) -> None:
        """Take one dead letter."""
        ...
