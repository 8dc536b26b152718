"""A webhook subscription: what it wants, how far it got, and what each try at its endpoint changes.

Everything here is a function of its arguments. What a try led to is told with the event's id and the place it was
read from, and changes nothing the second time, so two workers that believe they hold a subscription do no harm.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct

MINUTE_MS = 60_000


class WebhookRules(Struct, frozen=True, kw_only=True):
    """How webhooks are delivered. Times are milliseconds.

    `retry_ms` are the waits after each failed try; when they are used up the event is given up. An endpoint is
    suspended once more than `suspend_share` of its tries in `suspend_window_ms` failed, and there were
    `suspend_tries` of them. A replaced secret signs along for `rotation_ms`. A subscription without news is looked
    at every `look_ms`. At most `pending` events wait for another try before later ones have to wait too. A
    subscription lives for `ttl_ms` where it asks for nothing else, and from `least_ttl_ms` to `most_ttl_ms` where it
    does. An endpoint that was verified counts as that for `verified_ms`; a host is sent so many `verifications` a
    minute by one process. `each` and `total` are how many subscriptions a principal and everybody may have. `local`
    lets endpoints be on this machine, by plain http too: that is for tests. Nothing is `offered` where that is off.
    """

    retry_ms: tuple[int, ...] = (10_000, 60_000, 180_000, 480_000)
    timeout_ms: int = 5000
    suspend_share: float = 0.95
    suspend_window_ms: int = 60 * MINUTE_MS
    suspend_tries: int = 100
    rotation_ms: int = 15 * MINUTE_MS
    look_ms: int = 60_000
    pending: int = 32
    ttl_ms: int = 60 * MINUTE_MS
    least_ttl_ms: int = MINUTE_MS
    most_ttl_ms: int = 24 * 60 * MINUTE_MS
    verified_ms: int = 24 * 60 * MINUTE_MS
    verifications: int = 10
    each: int = 100
    total: int = 10_000
    local: bool = False
    offered: bool = True

    @property
    def lease_ms(self) -> int:
        """How long a worker holds a subscription for one try, and what it costs when that worker dies."""
        return self.timeout_ms + 3000


class Failure(StrEnum):
    """What may be told of a try that failed: nothing of what the endpoint answered."""

    REFUSED = "connection_refused"
    TIMEOUT = "timeout"
    TLS = "tls_error"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    CHALLENGE = "challenge_failed"


class Owner(Struct, frozen=True):
    """Whose a subscription is, and the scope prefixes that it could see then."""

    name: str
    scopes: tuple[str, ...]


class Pending(Struct, frozen=True):
    """An event that waits for another try: it is the first one after `before`."""

    event: str
    before: str
    tries: int
    due_at: int


class Minute(Struct, frozen=True, array_like=True):
    """The tries that began in one minute since 1970."""

    minute: int
    tries: int
    failures: int


class Tried(Struct, frozen=True):
    """A try at an event that was read between two places. `failure` is None where it was taken.

    A `final` failure is the endpoint's last word on this event. `retry_after_ms` is how long it asked to be left
    alone.
    """

    event: str
    before: str
    after: str
    failure: Failure | None = None
    final: bool = False
    retry_after_ms: int = 0


class Subscription(Struct, frozen=True, kw_only=True):
    """A subscription as stored.

    `cursor` is how far the log was read, `pending` are the events before it that have not been taken yet, oldest
    first. `lost` is the place before the first event that was given up or is gone, until the endpoint was told.
    `arguments` is canonical JSON. `profile` names the numbers of its errors.
    """

    id: str
    owner: Owner
    url: str
    name: str
    arguments: bytes
    profile: str
    secret: str
    cursor: str
    since: int = 0
    old_secret: str | None = None
    old_until: int = 0
    expires_at: int | None = None
    pending: tuple[Pending, ...] = ()
    lost: str | None = None
    suspended_at: int | None = None
    held_until: int = 0
    minutes: tuple[Minute, ...] = ()
    delivered_at: int | None = None
    failed_since: int | None = None
    last_error: Failure | None = None
    ended: bool = False
    """Whether its owner lost the right to it: the endpoint is still to be told."""

    @property
    def watermark(self) -> str:
        """A place with nothing before it that is still to be taken, given up, or lost without being told."""
        if self.lost is not None:
            return self.lost
        return self.pending[0].before if self.pending else self.cursor

    def expired(self, now: int) -> bool:
        """Whether nobody refreshed it in time."""
        return self.expires_at is not None and self.expires_at <= now

    def secrets(self, now: int) -> str:
        """The secrets that sign now, the newest first."""
        if self.old_secret is None or self.old_until <= now:
            return self.secret
        return f"{self.secret} {self.old_secret}"


def watermark_after(subscription: Subscription, event: str, after: str) -> str:
    """What an event's body says is safe to read on from, once that event was taken."""
    if subscription.lost is not None:
        return subscription.lost
    left = [each for each in subscription.pending if each.event != event]
    if left:
        return left[0].before
    return subscription.cursor if len(left) < len(subscription.pending) else after


def may_read(subscription: Subscription, rules: WebhookRules) -> bool:
    """Whether there is room to read on in the log."""
    return len(subscription.pending) < rules.pending


def retry_of(subscription: Subscription, now: int) -> Pending | None:
    """The oldest event whose time for another try has come."""
    return next((each for each in subscription.pending if each.due_at <= now), None)


def due_at(subscription: Subscription, now: int, rules: WebhookRules, *, idle: bool) -> int | None:
    """When to look at it next; None for never. It is `idle` when the log had no more for it."""
    instants = [each.due_at for each in subscription.pending]
    if may_read(subscription, rules):
        instants.append(now + rules.look_ms if idle else now)
    if subscription.suspended_at is not None:
        instants = []
    elif subscription.held_until > now:
        instants = [max(subscription.held_until, min(instants))]
    if subscription.expires_at is not None:
        instants.append(subscription.expires_at)
    return min(instants, default=None)


def tried(subscription: Subscription, what: Tried, now: int, rules: WebhookRules) -> Subscription:
    """After a try. One that was told before, or that is about an event no longer waited for, changes nothing."""
    waiting = next((each for each in subscription.pending if each.event == what.event), None)
    if waiting is None and subscription.cursor != what.before:
        return subscription
    tries = 1 if waiting is None else waiting.tries + 1
    if waiting is None:
        subscription = msgspec.structs.replace(subscription, cursor=what.after)
    left = tuple(each for each in subscription.pending if each is not waiting)
    minutes = _counted(subscription.minutes, now, rules, failed=what.failure is not None)
    if what.failure is None:
        return msgspec.structs.replace(
            subscription,
            pending=left,
            minutes=minutes,
            delivered_at=now,
            failed_since=None,
            last_error=None,
            held_until=0,
        )
    lost = subscription.lost
    if not what.final and tries <= len(rules.retry_ms):
        wait = max(rules.retry_ms[tries - 1], min(what.retry_after_ms, rules.retry_ms[-1]))
        again = Pending(what.event, waiting.before if waiting else what.before, tries, now + wait)
        place = len(left) if waiting is None else subscription.pending.index(waiting)
        left = (*left[:place], again, *left[place:])
    elif not what.final and lost is None:
        lost = waiting.before if waiting else what.before
    failed = msgspec.structs.replace(
        subscription,
        pending=left,
        lost=lost,
        minutes=minutes,
        failed_since=now if subscription.failed_since is None else subscription.failed_since,
        last_error=what.failure,
        held_until=now + min(what.retry_after_ms, rules.retry_ms[-1]) if what.retry_after_ms else 0,
    )
    return msgspec.structs.replace(failed, suspended_at=now) if _fails(minutes, rules) else failed


def moved(
    subscription: Subscription, before: str, start: str, cursor: str, *, truncated: bool
) -> Subscription:
    """After a read that found nothing for it, or, `truncated`, that what came after `before` is gone."""
    if subscription.cursor != before:
        return subscription
    lost = subscription.lost
    if truncated and lost is None:
        lost = start
    return msgspec.structs.replace(subscription, cursor=cursor, lost=lost)


def vanished(subscription: Subscription, event: str, start: str) -> Subscription:
    """After an event that waited for another try was found to be gone from the log."""
    left = tuple(each for each in subscription.pending if each.event != event)
    if len(left) == len(subscription.pending):
        return subscription
    lost = start if subscription.lost is None else subscription.lost
    return msgspec.structs.replace(subscription, pending=left, lost=lost)


def told(subscription: Subscription, lost: str) -> Subscription:
    """After the endpoint took word that events are missing."""
    return subscription if subscription.lost != lost else msgspec.structs.replace(subscription, lost=None)


def refreshed(
    subscription: Subscription,
    owner: Owner,
    secret: str,
    expires_at: int | None,
    now: int,
    rules: WebhookRules,
) -> Subscription:
    """After its owner subscribed again: the time runs anew, a suspended one goes on where it stood.

    A secret that differs replaces the one before, which signs along for a while.
    """
    changed: dict[str, object] = {"owner": owner, "expires_at": expires_at, "ended": False}
    if secret != subscription.secret:
        changed |= {
            "secret": secret,
            "old_secret": subscription.secret,
            "old_until": now + rules.rotation_ms,
        }
    if subscription.suspended_at is not None:
        again = tuple(Pending(each.event, each.before, 0, now) for each in subscription.pending)
        changed |= {"suspended_at": None, "pending": again, "minutes": (), "held_until": 0}
    return msgspec.structs.replace(subscription, **changed)


def granted(asked_ms: int, rules: WebhookRules) -> int:
    """How long a subscription lives, of what was asked for."""
    return max(rules.least_ttl_ms, min(asked_ms, rules.most_ttl_ms))


def _counted(
    minutes: tuple[Minute, ...], now: int, rules: WebhookRules, *, failed: bool
) -> tuple[Minute, ...]:
    minute = now // MINUTE_MS
    kept = [each for each in minutes if each.minute > minute - rules.suspend_window_ms // MINUTE_MS]
    last = kept.pop() if kept and kept[-1].minute == minute else Minute(minute, 0, 0)
    return (*kept, Minute(minute, last.tries + 1, last.failures + failed))


def _fails(minutes: tuple[Minute, ...], rules: WebhookRules) -> bool:
    tries = sum(each.tries for each in minutes)
    failures = sum(each.failures for each in minutes)
    return tries >= rules.suspend_tries and failures > rules.suspend_share * tries
