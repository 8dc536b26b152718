"""Decisions as an endpoint gets them: verified first, signed, in order, once each, tried again where it fails."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from standardwebhooks import Webhook

from attend.store.base import ScopeStore
from tests.api.rows import decide, decide_many
from tests.webhooks.conftest import Deliver
from tests.webhooks.receiver import OTHER_SECRET, SECRET, Post, Receiver, always, until

pytestmark = pytest.mark.anyio


async def test_decisions_come_signed_in_order_once_each(
    store: ScopeStore, delivering: Deliver, receiver: Receiver
) -> None:
    async with delivering(store) as subscriber:
        made = await subscriber.subscribe(receiver.url, ttlMs=3_600_000)
        assert made["refreshBefore"].endswith("Z")
        assert not made["truncated"]
        assert "deliveryStatus" not in made
        [challenge] = receiver.posts
        assert challenge.body["type"] == "verification"
        assert challenge.headers["webhook-id"].startswith("msg_verification_")
        wanted = await decide_many(store, 20)
        await until(lambda: len(receiver.events) >= 20)
        assert receiver.events == wanted
        for post in receiver.posts:
            assert post.signed_by(SECRET)
            assert not post.signed_by(OTHER_SECRET)
            assert post.headers["x-mcp-subscription-id"] == made["id"]
            assert post.headers["content-type"] == "application/json"
            Webhook(SECRET).verify(post.raw, post.headers)
        event = receiver.posts[1]
        assert event.headers["webhook-id"] == event.body["eventId"] == event.body["data"]["decisionId"]
        assert set(event.body) == {"eventId", "name", "timestamp", "data", "cursor"}
        # What a body says is safe to read on from is just after it: a poll from there gives what followed.
        polled, _ = await subscriber.wire.drain(receiver.posts[5].body["cursor"])
        assert [each["eventId"] for each in polled] == wanted[5:]


async def test_a_failed_try_is_signed_anew_under_the_same_id(
    store: ScopeStore, delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    tries: dict[str | None, int] = {}

    def answer(post: Post) -> int:
        tries[post.event] = tries.get(post.event, 0) + 1
        return 503 if tries[post.event] < 3 else 204

    receiver = new_receiver(answer)
    async with delivering(store) as subscriber:
        await subscriber.subscribe(receiver.url)
        wanted = await decide_many(store, 2)
        await until(lambda: tries == dict.fromkeys(wanted, 3))
        assert all(post.signed_by(SECRET) for post in receiver.posts)
        assert len({post.raw for post in receiver.posts if post.event == wanted[0]}) == 1
        # Until the first was taken, nothing after it was said to be safe to read on from.
        cursors = [post.body["cursor"] for post in receiver.posts if post.event == wanted[1]]
        polled, _ = await subscriber.wire.drain(cursors[0])
        assert [each["eventId"] for each in polled] == wanted


@pytest.mark.parametrize("status", [410, 413])
async def test_a_final_answer_is_not_tried_again(
    status: int, delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    receiver = new_receiver(always(status))
    async with delivering() as subscriber:
        await subscriber.subscribe(receiver.url)
        wanted = await decide_many(subscriber.app.store, 2)
        await until(lambda: len(receiver.events) >= 2)
        receiver.answer = always(200)
        wanted.append(await decide(subscriber.app.store))
        await until(lambda: wanted[2] in receiver.events)
        assert receiver.events == wanted
        assert receiver.of("gap") == []


async def test_an_event_given_up_is_told_as_a_gap(
    delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    receiver = new_receiver(always(500))
    async with delivering(retry_ms=(50, 50)) as subscriber:
        begun = await subscriber.subscribe(receiver.url)
        lost = await decide(subscriber.app.store)
        await until(lambda: receiver.events == [lost] * 3)

        async def refreshed() -> dict[str, object]:
            return await subscriber.subscribe(receiver.url)

        found = await refreshed()
        while not found["truncated"]:
            found = await refreshed()
        assert found["deliveryStatus"]["lastError"] == "http_5xx"  # type: ignore[index]
        polled, _ = await subscriber.wire.drain(str(found["cursor"]))
        assert [each["eventId"] for each in polled] == [lost]
        assert begun["id"] == found["id"]
        receiver.answer = always(200)
        after = await decide(subscriber.app.store)
        await until(lambda: bool(receiver.of("gap")))
        [gap] = receiver.of("gap")
        assert gap.signed_by(SECRET)
        polled, _ = await subscriber.wire.drain(gap.body["cursor"])
        assert polled == []
        assert receiver.events == [*[lost] * 3, after]
        assert not (await refreshed())["truncated"]


async def test_a_replaced_secret_signs_along_for_a_while(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering(rotation_ms=1500) as subscriber:
        first = await subscriber.subscribe(receiver.url)
        again = await subscriber.subscribe(receiver.url, OTHER_SECRET)
        assert again["id"] == first["id"]
        assert again["deliveryStatus"] == {"active": True, "lastDeliveryAt": None, "lastError": None}
        assert len(receiver.posts) == 1  # verified once
        await decide(subscriber.app.store)
        await until(lambda: len(receiver.events) == 1)
        both = receiver.posts[-1]
        assert both.signed_by(SECRET)
        assert both.signed_by(OTHER_SECRET)
        await subscriber.app.clock.sleep(1600)
        await decide(subscriber.app.store)
        await until(lambda: len(receiver.events) == 2)
        assert not receiver.posts[-1].signed_by(SECRET)
        assert receiver.posts[-1].signed_by(OTHER_SECRET)


async def test_what_nobody_refreshes_ends(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering(least_ttl_ms=100) as subscriber:
        await subscriber.subscribe(receiver.url, ttlMs=200)
        await until(lambda: bool(receiver.of("terminated")))
        assert receiver.of("terminated")[0].body["error"]["code"] == -32023
        store = subscriber.app.store.subscriptions
        wants = await store.wants(-1)
        while wants is None or wants.wants:
            wants = await store.wants(-1)
        await decide(subscriber.app.store)
        again = await subscriber.subscribe(receiver.url, ttlMs=None)
        assert again["refreshBefore"] is None
        assert receiver.events == []


async def test_filters_and_redaction_hold_for_webhooks(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering() as subscriber:
        await subscriber.subscribe(receiver.url, arguments={"scopePrefix": "ops/", "redact": True})
        await decide(subscriber.app.store, "shop/a", notice="secret words")
        wanted = await decide(subscriber.app.store, "ops/a", notice="secret words")
        await until(lambda: receiver.events == [wanted])
        assert b"secret words" not in receiver.posts[-1].raw
        assert "scope" not in json.loads(receiver.posts[-1].raw)["data"]


async def test_a_subscription_replays_from_its_cursor(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering() as subscriber:
        cursor = (await subscriber.wire.poll(None))["cursor"]
        wanted = await decide_many(subscriber.app.store, 120)
        made = await subscriber.subscribe(receiver.url, cursor=cursor)
        assert not made["truncated"]
        await until(lambda: len(receiver.events) >= 120)
        assert receiver.events == wanted


async def test_ending_it_stops_what_comes(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering() as subscriber:
        await subscriber.subscribe(receiver.url)
        key = {"name": "attention.decision", "delivery": {"url": receiver.url, "mode": "webhook"}}
        assert await subscriber.wire.result("events/unsubscribe", key)
        error = await subscriber.wire.error("events/unsubscribe", key)
        assert (error["code"], error["data"]) == (-32023, {"kind": "subscription"})
        await decide(subscriber.app.store)
        await subscriber.app.clock.sleep(300)
        assert receiver.events == []
