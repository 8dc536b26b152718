"""Ends the subscriptions of who may no longer read what they are about, each time that the principals change."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from attend.app import Attend
from attend.errors import StoreUnavailableError
from attend.principals import Principals
from attend.store.subscriptions import Change
from attend.webhooks.courier import decoded, encoded

logger = logging.getLogger("attend")


@asynccontextmanager
async def ending_withdrawn(app: Attend, principals: Principals) -> AsyncGenerator[None]:
    """Look at every subscription now, and whenever the principals were read anew, while this is entered."""
    changed = asyncio.Event()
    changed.set()
    principals.on_change.append(changed.set)
    looking = asyncio.create_task(_look(app, principals, changed), name="attend withdrawn")
    try:
        yield
    finally:
        principals.on_change.remove(changed.set)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _look(app: Attend, principals: Principals, changed: asyncio.Event) -> None:
    while True:
        await changed.wait()
        changed.clear()
        try:
            await end_withdrawn(app, principals)
        except StoreUnavailableError:
            changed.set()
            await asyncio.sleep(random.uniform(0.1, 1.0))
        except Exception:
            logger.exception("subscriptions could not be looked at")


async def end_withdrawn(app: Attend, principals: Principals) -> None:
    """Mark those whose owner may no longer read what they were made for; a worker tells their endpoints.

    One that cannot be read is passed by, since nobody delivers to it either.
    """
    found = await app.store.subscriptions.wants(-1)
    for id in () if found is None else found.wants:
        try:
            await _end_withdrawn(app, principals, id)
        except msgspec.MsgspecError as error:
            logger.error("subscription %s cannot be read: %s", id, error)


async def _end_withdrawn(app: Attend, principals: Principals, id: str) -> None:
    store, rules = app.store.subscriptions, app.webhooks
    while (kept := await store.get(id)) is not None:
        subscription = decoded(kept.record)
        if subscription.ended or principals.reads(subscription.owner.name, subscription.owner.scopes):
            break
        now = app.clock.now()
        ended = msgspec.structs.replace(subscription, ended=True, suspended_at=None)
        change = Change(
            id=id,
            expected=kept.version,
            version=secrets.token_hex(8),
            record=encoded(ended),
            owner=subscription.owner.name,
            at=now,
            due_at=now,
        )
        await store.put(change, rules.each, rules.total)
