"""`events/subscribe` and `events/unsubscribe`: webhook subscriptions as their owners make, refresh and end them."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Annotated, Any, TypeVar

import msgspec
from mcp.server.context import HandlerResult, ServerRequestContext
from msgspec import UNSET, Meta, Struct, UnsetType

from attend.api.auth import Access, Principal, Right, access_of
from attend.api.faults import Faults, invalid, unavailable
from attend.api.schema import read_arguments
from attend.api.verify import Verifier
from attend.app import Attend
from attend.core.subscription import Owner, Subscription, granted, refreshed
from attend.errors import StoreUnavailableError
from attend.payload import EVENT, Arguments, timestamp
from attend.signature import read_secrets
from attend.store.subscriptions import Change, Kept, Outcome
from attend.webhooks.courier import decoded, encoded, filter_of
from attend.webhooks.endpoint import check_url

MODE = "webhook"
_TRIES = 16

Context = ServerRequestContext[Any, Any]
D = TypeVar("D", bound=Struct)


class Delivery(Struct, frozen=True):
    """Where to deliver to."""

    mode: str
    url: str
    secret: str


class SubscribeRequest(Struct, frozen=True, rename="camel"):
    """Of `events/subscribe`. A `ttl_ms` of null asks for no end."""

    name: str
    delivery: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None
    cursor: str | None = None
    max_age_ms: Annotated[int, Meta(ge=0)] | None = None
    ttl_ms: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET


class Ending(Struct, frozen=True):
    """Where it was delivered to; what else was said of that may be said again."""

    url: str


class UnsubscribeRequest(Struct, frozen=True):
    """Of `events/unsubscribe`."""

    name: str
    delivery: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None


class Subscribing:
    """The two methods for one app."""

    def __init__(self, app: Attend, faults: Faults, profile: str) -> None:
        self._app = app
        self._rules = app.webhooks
        self._faults = faults
        self._profile = profile
        self._store = app.store.subscriptions
        self._verifier = Verifier(app, faults)

    def modes(self, principal: Principal) -> list[str]:
        """How the event type is delivered to a principal."""
        return ["poll", "push", *([MODE] if principal.known and self._rules.offered else [])]

    async def subscribe(self, ctx: Context, request: SubscribeRequest) -> HandlerResult:
        """Make a subscription, or refresh the one that has the same principal, URL, event and arguments."""
        access = self._caller(ctx, request.name, (request.delivery or {}).get("mode"))
        arguments, canonical = _arguments(request.arguments)
        delivery = _delivery(Delivery, request.delivery)
        url, secret = delivery.url, delivery.secret
        try:
            check_url(url, local=self._rules.local)
            if len(read_secrets(secret)) != 1:
                raise ValueError("delivery.secret must be one secret")
        except ValueError as error:
            problem = str(error)
            raise invalid(
                problem if problem.startswith("delivery.") else f"delivery.secret: {problem}"
            ) from None
        owner = Owner(access.principal.name, access.principal.scopes)
        id = _id(owner.name, url, request.name, canonical)
        try:
            await self._verifier.verify(owner.name, url, secret, id)
            for _ in range(_TRIES):
                now = self._app.clock.now()
                kept = await self._store.get(id)
                found = None if kept is None else decoded(kept.record)
                if found is None or found.expired(now) or found.ended:
                    made, truncated = await self._new(id, owner, request, delivery, arguments, canonical, now)
                    fresh = True
                else:
                    made = refreshed(found, owner, secret, self._expiry(request, now), now, self._rules)
                    truncated, fresh = made.lost is not None, False
                due = fresh or (found or made).suspended_at is not None
                version = await self._put(made, kept, now, due=due)
                if version:
                    if not access.holds(Right.READ):
                        # Withdrawn meanwhile: whoever ends subscriptions then may have looked before it was there.
                        await self._store.drop(id, version, owner.name)
                        raise self._faults.forbidden()
                    access.note("subscribe" if fresh else "refresh", subscription=id)
                    return self._answer(made, truncated, status=not fresh)
        except StoreUnavailableError as error:
            raise unavailable() from error
        raise unavailable()

    async def unsubscribe(self, ctx: Context, request: UnsubscribeRequest) -> HandlerResult:
        """End a subscription. One that is not there is NotFound, or nothing to say in the profile `openai`."""
        access = self._caller(ctx, request.name, MODE)
        _, canonical = _arguments(request.arguments)
        url = _delivery(Ending, request.delivery).url
        id = _id(access.principal.name, url, request.name, canonical)
        try:
            for _ in range(_TRIES):
                kept = await self._store.get(id)
                if kept is None or decoded(kept.record).expired(self._app.clock.now()):
                    break
                if await self._store.drop(id, kept.version, access.principal.name):
                    access.note("unsubscribe", subscription=id)
                    return {}
        except StoreUnavailableError as error:
            raise unavailable() from error
        if self._profile == "openai":
            return {}
        raise self._faults.unknown_subscription()

    def _caller(self, ctx: Context, name: str, mode: object) -> Access:
        if name != EVENT:
            raise self._faults.unknown_event(name)
        if not isinstance(mode, str):
            raise invalid("delivery.mode must be `webhook`")
        if mode != MODE or not self._rules.offered:
            raise self._faults.unsupported_mode(mode)
        access = _access(ctx)
        if not access.principal.known:
            raise self._faults.unauthenticated()
        if not access.holds(Right.READ):
            raise self._faults.forbidden()
        return access

    async def _new(
        self,
        id: str,
        owner: Owner,
        request: SubscribeRequest,
        delivery: Delivery,
        arguments: Arguments,
        canonical: bytes,
        now: int,
    ) -> tuple[Subscription, bool]:
        since = 0
        if request.max_age_ms is not None and request.cursor is not None:
            since = now - request.max_age_ms
        wanted = arguments.filter(None if "" in owner.scopes else owner.scopes)
        batch = await self._app.feed.read(request.cursor, wanted, limit=1, since=since)
        made = Subscription(
            id=id,
            owner=owner,
            url=delivery.url,
            name=request.name,
            arguments=canonical,
            profile=self._profile,
            secret=delivery.secret,
            cursor=batch.start,
            since=since,
            expires_at=self._expiry(request, now),
        )
        return made, batch.truncated

    def _expiry(self, request: SubscribeRequest, now: int) -> int | None:
        if request.ttl_ms is None:
            return None
        asked = self._rules.ttl_ms if request.ttl_ms is UNSET else request.ttl_ms
        return now + granted(asked, self._rules)

    async def _put(self, made: Subscription, kept: Kept | None, now: int, *, due: bool) -> str:
        """Keep it; its version, or nothing where somebody else changed it."""
        change = Change(
            id=made.id,
            expected="" if kept is None else kept.version,
            version=secrets.token_hex(8),
            record=encoded(made),
            owner=made.owner.name,
            at=now,
            wants=msgspec.msgpack.encode(filter_of(made)),
            due=due,
            due_at=now,
        )
        outcome = await self._store.put(change, self._rules.each, self._rules.total)
        if outcome in (Outcome.EACH, Outcome.TOTAL):
            most = self._rules.each if outcome is Outcome.EACH else self._rules.total
            raise self._faults.exhausted("subscriptions", most)
        return change.version if outcome is Outcome.OK else ""

    def _answer(self, made: Subscription, truncated: bool, *, status: bool) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "id": made.id,
            "refreshBefore": None if made.expires_at is None else timestamp(made.expires_at),
            "cursor": made.watermark,
            "truncated": truncated,
        }
        if status:
            answer["deliveryStatus"] = _status(made)
        return answer


def _access(ctx: Context) -> Access:
    return access_of(getattr(ctx.request, "scope", {}))


def _delivery(type: type[D], given: dict[str, Any] | None) -> D:
    try:
        return read_arguments(type, given)
    except ValueError as error:
        raise invalid(f"delivery: {error}") from error


def _status(subscription: Subscription) -> dict[str, Any]:
    at = subscription.delivered_at
    status: dict[str, Any] = {
        "active": subscription.suspended_at is None,
        "lastDeliveryAt": None if at is None else timestamp(at),
        "lastError": subscription.last_error,
    }
    if subscription.failed_since is not None:
        status["failedSince"] = timestamp(subscription.failed_since)
    return status


def _arguments(given: dict[str, Any] | None) -> tuple[Arguments, bytes]:
    """Arguments checked, and as canonical JSON: none, null and empty are one, and so are an int and its float."""
    try:
        arguments = read_arguments(Arguments, given)
    except ValueError as error:
        raise invalid(f"arguments: {error}") from error
    plain = {name: _plain(value) for name, value in (given or {}).items() if value is not None}
    return arguments, json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _id(principal: str, url: str, name: str, arguments: bytes) -> str:
    """A subscription's id: the same for the same key, and of no use to anybody else."""
    key = json.dumps([principal, url, name, arguments.decode()]).encode()
    return f"sub_{hashlib.sha256(key).hexdigest()[:32]}"
