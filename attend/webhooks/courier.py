"""One subscription in hand: read on for it, post what it is to have, keep what came of each try."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import deque
from collections.abc import Callable

import msgspec
from msgspec import Struct

from attend.clock import Clock
from attend.core.subscription import (
    Failure,
    Subscription,
    Tried,
    WebhookRules,
    due_at,
    may_read,
    moved,
    retry_of,
    told,
    tried,
    vanished,
    watermark_after,
)
from attend.core.types import Summary
from attend.errors import StoreUnavailableError
from attend.feed import Feed, Filter
from attend.payload import Arguments
from attend.store.subscriptions import Change, Kept, Outcome, Subscriptions
from attend.webhooks.endpoint import EndpointError, Poster
from attend.webhooks.message import control_body, control_id, event_body, headers_of
from attend.webhooks.profiles import PROFILES

AHEAD = 50
"""Decisions read at once."""

PATIENCE_MS = 120_000
"""How long the outcome of a try is held while the store is away."""

logger = logging.getLogger("attend")

_records = msgspec.msgpack.Decoder(Subscription)


def encoded(subscription: Subscription) -> bytes:
    """A subscription as the store keeps it."""
    return msgspec.msgpack.encode(subscription)


def decoded(record: bytes) -> Subscription:
    """A subscription as it was kept. Raises `msgspec.ValidationError` for another version's."""
    return _records.decode(record)


def filter_of(subscription: Subscription) -> Filter:
    """What it wants, within what its owner sees."""
    owner = subscription.owner
    return arguments_of(subscription).filter(None if "" in owner.scopes else owner.scopes)


def arguments_of(subscription: Subscription) -> Arguments:
    """Its arguments."""
    return msgspec.json.decode(subscription.arguments, type=Arguments)


class _Next(Struct, frozen=True):
    """A decision to try, between two places."""

    decision: Summary
    before: str
    after: str


class _Held:
    """A claimed subscription: what is stored of it, and until when nobody else may have it."""

    def __init__(self, kept: Kept, until: int) -> None:
        self.version = kept.version
        self.subscription = decoded(kept.record)
        self.until = until
        self.ahead: deque[_Next] = deque()
        self.idle = False


class Courier:
    """Carries the events of one subscription after another."""

    def __init__(
        self,
        store: Subscriptions,
        feed: Feed,
        clock: Clock,
        rules: WebhookRules,
        poster: Poster,
    ) -> None:
        self._store = store
        self._feed = feed
        self._clock = clock
        self._rules = rules
        self._poster = poster
        self.stopping = False
        """Set for a shutdown: runs then end after the post they are at."""

    async def run(self, id: str, until: int) -> None:
        """Post until there is no more to post now, or the claim's time is up: others have their turn then.

        Raises `StoreUnavailableError`; the claim ends by itself then.
        """
        kept = await self._store.get(id)
        if kept is None:
            return
        held = _Held(kept, until)
        while True:
            subscription, now = held.subscription, self._clock.now()
            if subscription.expired(now):
                await self._end(held, "NotFound", "The subscription was not refreshed in time")
                return
            if subscription.ended:
                await self._end(held, "Forbidden", "What this subscription may see was withdrawn")
                return
            if subscription.suspended_at is not None or subscription.held_until > now:
                break
            if self.stopping or now >= until:
                break
            found = await self._next(held, now)
            if found is None and (held.idle or not may_read(held.subscription, self._rules)):
                break
            if found is not None and not await self._try(held, found):
                return
        if held.subscription.lost is not None and held.subscription.failed_since is None:
            await self._tell(held)
        await self._commit(held, lambda subscription: subscription, done=True)

    async def _next(self, held: _Held, now: int) -> _Next | None:
        """The decision to try now: one whose time for another try has come, or the next of the log."""
        subscription = held.subscription
        waiting = retry_of(subscription, now)
        if waiting is not None:
            batch = await self._feed.read(
                waiting.before, filter_of(subscription), limit=1, since=subscription.since
            )
            if batch.decisions and batch.decisions[0].id == waiting.event:
                return _Next(batch.decisions[0], waiting.before, batch.cursors[0])
            start = batch.start
            await self._commit(held, lambda each: vanished(each, waiting.event, start))
            return None
        if not may_read(subscription, self._rules):
            return None
        if not held.ahead or held.ahead[0].before != subscription.cursor:
            await self._read(held)
        return held.ahead.popleft() if held.ahead else None

    async def _read(self, held: _Held) -> None:
        subscription, before = held.subscription, held.subscription.cursor
        batch = await self._feed.read(before, filter_of(subscription), limit=AHEAD, follow=True)
        held.ahead.clear()
        fresh = [
            (decision, after)
            for decision, after in zip(batch.decisions, batch.cursors, strict=True)
            if decision.decided_at >= subscription.since
        ]
        if batch.truncated and subscription.lost is None:
            start = batch.start
            await self._commit(held, lambda each: moved(each, before, start, before, truncated=True))
        if fresh:
            place = before
            for decision, after in fresh:
                held.ahead.append(_Next(decision, place, after))
                place = after
            return
        held.idle = not batch.more
        if batch.cursor != before:
            held.subscription = moved(held.subscription, before, before, batch.cursor, truncated=False)
            if batch.more:
                await self._commit(
                    held, lambda each: moved(each, before, before, batch.cursor, truncated=False)
                )

    async def _try(self, held: _Held, what: _Next) -> bool:
        """Post an event and keep what came of it; whether the subscription is still in hand."""
        subscription = held.subscription
        cursor = watermark_after(subscription, what.decision.id, what.after)
        body = event_body(subscription, arguments_of(subscription), what.decision, cursor)
        failure, final, wait = await self._post(subscription, what.decision.id, body)
        outcome = Tried(what.decision.id, what.before, what.after, failure, final, wait)
        if not await self._commit(held, lambda each: tried(each, outcome, self._clock.now(), self._rules)):
            return False
        if failure is None and held.subscription.lost is not None:
            return await self._tell(held)
        if held.subscription.suspended_at is not None:
            logger.warning("subscription %s is suspended: its endpoint fails (%s)", subscription.id, failure)
        return True

    async def _tell(self, held: _Held) -> bool:
        """Tell the endpoint that events are missing before the place that its next ones are after."""
        lost = held.subscription.lost
        assert lost is not None
        left = told(held.subscription, lost)
        body = control_body("gap", cursor=left.watermark)
        failure, _, _ = await self._post(left, control_id("gap"), body)
        return failure is not None or await self._commit(held, lambda each: told(each, lost))

    async def _end(self, held: _Held, code: str, message: str) -> None:
        subscription = held.subscription
        number = PROFILES[subscription.profile][code]
        body = control_body("terminated", error={"code": number, "message": message})
        await self._post(subscription, control_id("terminated"), body)
        logger.info("subscription %s ends: %s", subscription.id, message)
        # Where it was refreshed meanwhile it stays, and is looked at again once the claim ends.
        await self._store.drop(subscription.id, held.version, subscription.owner.name)

    async def _post(
        self, subscription: Subscription, id: str, body: bytes
    ) -> tuple[Failure | None, bool, int]:
        headers = headers_of(id, subscription.id, subscription.secrets(self._clock.now()), body)
        try:
            answer = await self._poster.post(subscription.url, headers, body)
        except EndpointError as error:
            return error.failure, False, 0
        return answer.failure, answer.final, answer.retry_after_ms

    async def _commit(
        self, held: _Held, change: Callable[[Subscription], Subscription], *, done: bool = False
    ) -> bool:
        """Keep a change and go on holding the subscription, or let go of it; whether it is still in hand."""
        now = self._clock.now()
        give_up_at = now + PATIENCE_MS
        made = self._change(held, change(held.subscription), now, done)
        while True:
            try:
                outcome = await self._store.put(made, self._rules.each, self._rules.total)
                if outcome is Outcome.OK:
                    held.version, held.subscription = made.version, decoded(made.record)
                    held.until = now + self._rules.lease_ms if made.due else held.until
                    return made.due and not done
                # Its owner changed it, or the claim had ended: what came of the try counts all the same.
                kept = await self._store.get(made.id)
                if kept is None:
                    return False
            except StoreUnavailableError:
                if self._clock.now() > give_up_at:
                    raise
                await asyncio.sleep(random.uniform(0.1, 0.9))
                continue
            now = self._clock.now()
            held.version, held.subscription = kept.version, decoded(kept.record)
            held.ahead.clear()
            made = self._change(held, change(held.subscription), now, done)

    def _change(self, held: _Held, subscription: Subscription, now: int, done: bool) -> Change:
        in_hand = now < held.until
        due = due_at(subscription, now, self._rules, idle=held.idle) if done else now + self._rules.lease_ms
        return Change(
            id=subscription.id,
            expected=held.version,
            version=secrets.token_hex(8),
            record=encoded(subscription),
            owner=subscription.owner.name,
            at=now,
            due=in_hand,
            due_at=due,
            idle=done and held.idle and subscription.suspended_at is None,
        )
