"""Who may subscribe, to how much, and what is said to who may not."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attend.api.withdrawn import end_withdrawn
from attend.principal import Principal, Right, block, hash_of
from attend.principals import Principals
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.store.subscriptions import Change, Outcome
from attend.webhooks.courier import decoded
from tests.api.rows import decide, decide_many
from tests.api.wire import EVENT, wire
from tests.webhooks.conftest import TOKEN, Deliver
from tests.webhooks.receiver import OTHER_SECRET, Post, Receiver, always, until
from tests.webhooks.subscriber import Subscriber, params

pytestmark = pytest.mark.anyio


async def modes(subscriber: Subscriber) -> list[str]:
    """The ways that the event type is offered."""
    [event] = (await subscriber.wire.result("events/list"))["events"]
    found: list[str] = event["delivery"]
    return found


async def test_webhooks_are_for_principals_alone(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering(token=None) as subscriber:
        assert await modes(subscriber) == ["poll", "push"]
        error = await subscriber.refused(receiver.url)
        assert error["code"] == -32024
        assert "token" in error["data"]["reason"]
        error = await subscriber.wire.error(
            "events/unsubscribe", {"name": EVENT, "delivery": {"url": receiver.url}}
        )
        assert error["code"] == -32024
    async with delivering() as subscriber:
        assert await modes(subscriber) == ["poll", "push", "webhook"]
    async with delivering(offered=False) as subscriber:
        assert await modes(subscriber) == ["poll", "push"]
        error = await subscriber.refused(receiver.url)
        assert (error["code"], error["data"]) == (-32026, {"feature": "deliveryMode", "value": "webhook"})
    assert receiver.posts == []


def secret_of(size: int) -> str:
    """A secret of so many bytes."""
    return "whsec_" + base64.b64encode(bytes(size)).decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": secret_of(23)},
        {"secret": secret_of(65)},
        {"secret": "whsec_???"},
        {"secret": base64.b64encode(bytes(32)).decode()},
        {"secret": f"{secret_of(32)} {secret_of(33)}"},
        {"secret": ""},
        {"secret": 7},
        {"url": "https://user@x.example/"},
        {"url": "http://x.example/"},
        {"url": None},
    ],
)
async def test_a_wrong_delivery_is_invalid(wrong: dict[str, Any], delivering: Deliver) -> None:
    async with delivering(run=False) as subscriber:
        given = params("https://x.example/")
        given["delivery"] = {**given["delivery"], **wrong}
        error = await subscriber.wire.error("events/subscribe", given)
        assert error["code"] == -32602
        assert "delivery" in error["message"]
        assert "whsec_A" not in error["message"]


async def test_arguments_and_times_are_checked(delivering: Deliver) -> None:
    async with delivering(run=False) as subscriber:
        wrong: list[dict[str, Any]] = [
            {"arguments": {"routes": []}},
            {"ttlMs": 0},
            {"ttlMs": "1"},
            {"cursor": 5},
        ]
        for more in wrong:
            assert (await subscriber.refused("https://x.example/", **more))["code"] == -32602


async def test_an_endpoint_is_asked_before_anything_is_sent(
    delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    deaf, gone = new_receiver(), new_receiver()
    deaf.echo = False
    gone.close()
    async with delivering(verifications=2) as subscriber:
        error = await subscriber.refused(deaf.url)
        assert (error["code"], error["data"]) == (-32027, {"reason": "challenge_failed"})
        error = await subscriber.refused(gone.url)
        assert error["data"] == {"reason": "connection_refused"}
        error = await subscriber.refused(deaf.url)  # the third of one host within a minute
        assert error["code"] == -32025
        assert error["data"] == {"limit": "verifications", "max": 2}
        assert len(deaf.posts) == 1
    async with delivering(api={"errors": "openai"}) as subscriber:
        assert (await subscriber.refused(deaf.url))["code"] == -32015
        key = {"name": EVENT, "delivery": {"url": deaf.url}}
        assert "code" not in await subscriber.wire.result("events/unsubscribe", key)


async def test_addresses_inside_are_refused_like_any_that_do_not_answer(delivering: Deliver) -> None:
    async with delivering(local=False) as subscriber:
        for url in ("https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://169.254.169.254/"):
            error = await subscriber.refused(url)
            assert (error["code"], error["data"]) == (-32027, {"reason": "connection_refused"})


async def test_one_key_is_one_subscription(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering(run=False) as subscriber:
        given: list[dict[str, Any]] = [
            {},
            {"arguments": {}},
            {"arguments": None},
            {"arguments": {"scope": None}},
            {"arguments": {"scope": "a", "minConfidence": 1}},
            {"arguments": {"minConfidence": 1.0, "scope": "a"}},
            {"arguments": {"scope": "b"}},
        ]
        ids = [(await subscriber.subscribe(receiver.url, **more))["id"] for more in given]
        assert ids[0] == ids[1] == ids[2] == ids[3]
        assert ids[4] == ids[5]
        assert len(set(ids)) == 3
        assert (await subscriber.subscribe(receiver.url + "/", OTHER_SECRET))["id"] not in ids


async def test_over_the_quota_says_what_is_exhausted(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering(run=False, each=2) as subscriber:
        for scope in ("a", "b"):
            await subscriber.subscribe(receiver.url, arguments={"scope": scope})
        error = await subscriber.refused(receiver.url, arguments={"scope": "c"})
        assert (error["code"], error["data"]) == (-32025, {"limit": "subscriptions", "max": 2})
        assert "deliveryStatus" in await subscriber.subscribe(receiver.url, arguments={"scope": "a"})
        await subscriber.wire.result(
            "events/unsubscribe",
            {"name": EVENT, "arguments": {"scope": "a"}, "delivery": {"url": receiver.url}},
        )
        await subscriber.subscribe(receiver.url, arguments={"scope": "c"})


async def test_a_suspended_subscription_is_active_again_once_refreshed(
    delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    receiver = new_receiver(always(500))
    async with delivering(suspend_tries=4, retry_ms=(10, 10, 10, 10, 10)) as subscriber:
        await subscriber.subscribe(receiver.url)
        first = await decide(subscriber.app.store)
        await until(lambda: len(receiver.events) >= 4)
        await subscriber.app.clock.sleep(300)
        second = await decide(subscriber.app.store)
        await subscriber.app.clock.sleep(300)
        assert receiver.events == [first] * 4
        receiver.answer = always(200)
        found = await subscriber.subscribe(receiver.url)
        assert found["deliveryStatus"]["lastError"] == "http_5xx"
        await until(lambda: receiver.events == [*[first] * 5, second])


async def test_it_does_not_matter_which_process_took_a_subscription(
    store: ScopeStore, delivering: Deliver, receiver: Receiver
) -> None:
    async with delivering(store, run=False) as front, delivering(store) as behind:
        made = await front.subscribe(receiver.url)
        wanted = await decide(store)
        await until(lambda: receiver.events == [wanted])
        again = await behind.subscribe(receiver.url)
        assert again["id"] == made["id"]
        assert again["deliveryStatus"]["lastDeliveryAt"] is not None


async def test_a_right_withdrawn_ends_what_was_subscribed_by_it(
    delivering: Deliver, receiver: Receiver, tmp_path: Path
) -> None:
    file = tmp_path / "principals.toml"

    def write(*scopes: str) -> None:
        ann = Principal("ann", frozenset({Right.READ}), scopes, hash=hash_of(TOKEN.encode()))
        file.write_text(block(ann))

    write("ops/", "shop/")
    async with delivering(token=None, api={"principals": str(file)}) as subscriber:
        base = str(subscriber.wire.client.base_url)
        async with wire(base, TOKEN) as client:
            ann = Subscriber(subscriber.app, client)
            await ann.subscribe(receiver.url)
            await decide(subscriber.app.store, "other/a")
            wanted = await decide(subscriber.app.store, "ops/a")
            await until(lambda: receiver.events == [wanted])
            write("shop/")
            await until(lambda: bool(receiver.of("terminated")))
            assert receiver.of("terminated")[0].body["error"]["code"] == -32024
            await decide(subscriber.app.store, "ops/a")
            begun = await ann.subscribe(receiver.url)
            assert "deliveryStatus" not in begun
            wanted = await decide(subscriber.app.store, "shop/a")
            await until(lambda: wanted in receiver.events)
            assert len(receiver.events) == 2


async def test_one_that_cannot_be_read_keeps_no_other_alive(
    delivering: Deliver, receiver: Receiver, tmp_path: Path
) -> None:
    file = tmp_path / "principals.toml"
    file.write_text(block(Principal("ann", frozenset({Right.READ}), hash=hash_of(b"another token"))))
    async with delivering(run=False) as subscriber:
        store = subscriber.app.store.subscriptions
        first, second = [(await subscriber.subscribe(f"{receiver.url}/{n}"))["id"] for n in range(2)]
        kept = await store.get(first)
        assert kept is not None
        other = Change(
            id=first, expected=kept.version, version="x", record=b"another version's", owner="token", at=1
        )
        assert await store.put(other, 100, 100) is Outcome.OK
        await end_withdrawn(subscriber.app, Principals(None, str(file)))
        kept = await store.get(second)
        assert kept is not None
        assert decoded(kept.record).ended


async def test_one_of_a_newer_version_stops_no_other(delivering: Deliver, receiver: Receiver) -> None:
    async with delivering() as subscriber:
        newer = Change(
            id="sub_newer", expected="", version="x", record=b"r", owner="o", at=1, wants=b"w", due=False
        )
        assert await subscriber.app.store.subscriptions.put(newer, 100, 100) is Outcome.OK
        await subscriber.subscribe(receiver.url)
        wanted = await decide(subscriber.app.store, "ops/a")
        await until(lambda: receiver.events == [wanted])


async def test_a_subscription_outlives_who_took_it(delivering: Deliver, receiver: Receiver) -> None:
    store = MemoryStore()
    async with delivering(store) as subscriber:
        await subscriber.subscribe(receiver.url, ttlMs=None)
    wanted = await decide(store)
    async with delivering(store):
        await until(lambda: receiver.events == [wanted])


async def test_who_shuts_down_hands_over_without_a_loss_or_a_second_post(
    store: ScopeStore, delivering: Deliver, new_receiver: Callable[..., Receiver]
) -> None:
    def slow(post: Post) -> int:
        time.sleep(0.05)
        return 200

    receiver = new_receiver(slow)
    async with delivering(store) as subscriber:
        cursor = (await subscriber.wire.poll(None))["cursor"]
        wanted = await decide_many(store, 40)
        await subscriber.subscribe(receiver.url, cursor=cursor)
        await until(lambda: len(receiver.events) >= 5)
    assert len(receiver.events) < 40
    await store.open()
    async with delivering(store):
        await until(lambda: len(receiver.events) >= 40)
    assert receiver.events == wanted
