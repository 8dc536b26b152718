"""Sinks for when the log is all there is to deliver to."""

from __future__ import annotations

import logging

from attend.core.types import DeadLetter, Decision

logger = logging.getLogger("attend")


class LogSink:
    """Notes each decision by its id and route. Its events are not written anywhere."""

    async def deliver(self, decision: Decision) -> None:
        """Write one line."""
        logger.info(
            "decision %s: %s, %d events of scope %r",
            decision.id,
            decision.route,
            len(decision.event_ids),
            decision.scope,
        )


async def log_dead_letter(letter: DeadLetter, /) -> None:
    """Notes a dead letter by its id, stage and message."""
    logger.error(
        "dead letter %s of scope %r: %s gave up after %d starts: %s",
        letter.id,
        letter.scope,
        letter.stage,
        letter.starts,
        letter.message,
    )
