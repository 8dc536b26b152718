"""Webhooks beside the lanes of scopes, in whichever process runs those."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from attend.clock import Clock
from attend.core.subscription import WebhookRules
from attend.feed import Feed
from attend.store.subscriptions import Subscriptions

logger = logging.getLogger("attend")


@asynccontextmanager
async def delivering(
    store: Subscriptions, feed: Feed, clock: Clock, rules: WebhookRules, grace_ms: int
) -> AsyncGenerator[None]:
    """Deliver to subscriptions while this is entered, where webhooks are offered."""
    if not rules.offered:
        yield
        return
    # It takes an HTTP client along, which whoever runs no lanes does without.
    from attend.webhooks.lane import Webhooks

    webhooks = Webhooks(store, feed, clock, rules, grace_ms=grace_ms)
    posting = asyncio.create_task(webhooks.run(), name="attend webhooks")
    posting.add_done_callback(_ended)
    try:
        yield
    finally:
        posting.cancel()
        await asyncio.gather(posting, return_exceptions=True)


def _ended(posting: asyncio.Task[None]) -> None:
    # The lanes of scopes go on: subscriptions are kept, and another process, or the next one, delivers to them.
    if not posting.cancelled() and posting.exception() is not None:
        logger.critical("webhooks are delivered here no longer", exc_info=posting.exception())
