"""What each try changes, on instants of the test's own: ladder, order, watermark, suspension, secrets, time to live."""

from __future__ import annotations

from typing import Any

import msgspec

from attend.core.subscription import (
    MINUTE_MS,
    Failure,
    Owner,
    Pending,
    Subscription,
    Tried,
    WebhookRules,
    due_at,
    granted,
    may_read,
    moved,
    refreshed,
    retry_of,
    told,
    tried,
    vanished,
    watermark_after,
)

AT = 1_760_570_000_000
RULES = WebhookRules()
ME = Owner("ann", ("",))


def made(**more: Any) -> Subscription:
    """A subscription that stands at place p0."""
    given: dict[str, Any] = {
        "id": "s",
        "owner": ME,
        "url": "https://x.example/",
        "name": "e",
        "arguments": b"{}",
        "profile": "sep-3415",
        "secret": "one",
        "cursor": "p0",
        **more,
    }
    return Subscription(**given)


def failed(event: str, before: str, after: str, **more: Any) -> Tried:
    """A try that failed."""
    return Tried(event, before, after, Failure.HTTP_5XX, **more)


def test_an_event_is_given_up_after_five_tries_within_a_quarter_of_an_hour() -> None:
    subscription, now, tries = made(), AT, 1
    subscription = tried(subscription, failed("a", "p0", "p1"), now, RULES)
    while subscription.pending:
        [waiting] = subscription.pending
        assert retry_of(subscription, waiting.due_at - 1) is None
        assert retry_of(subscription, waiting.due_at) is waiting
        assert subscription.watermark == "p0"
        now = waiting.due_at
        subscription = tried(subscription, failed("a", "p0", "p1"), now, RULES)
        tries += 1
    assert tries == 5
    assert 10 * MINUTE_MS <= now - AT <= 15 * MINUTE_MS
    assert (subscription.cursor, subscription.lost, subscription.watermark) == ("p1", "p0", "p0")
    assert subscription.failed_since == AT
    assert told(subscription, "p0").watermark == "p1"
    assert told(subscription, "elsewhere") is subscription


def test_a_try_told_twice_counts_once() -> None:
    one = tried(made(), Tried("a", "p0", "p1"), AT, RULES)
    assert (one.cursor, one.delivered_at) == ("p1", AT)
    assert tried(one, Tried("a", "p0", "p1"), AT + 1, RULES) is one
    assert tried(one, failed("a", "p0", "p1"), AT + 1, RULES) is one


def test_later_events_go_on_while_one_waits_and_none_is_said_to_be_safe_past_it() -> None:
    subscription = tried(made(), failed("a", "p0", "p1"), AT, RULES)
    assert may_read(subscription, RULES)
    assert watermark_after(subscription, "b", "p2") == "p0"
    subscription = tried(subscription, Tried("b", "p1", "p2"), AT, RULES)
    assert (subscription.cursor, subscription.watermark) == ("p2", "p0")
    assert watermark_after(subscription, "a", "p1") == "p2"
    subscription = tried(subscription, Tried("a", "p0", "p1"), AT + 10_000, RULES)
    assert (subscription.cursor, subscription.watermark, subscription.pending) == ("p2", "p2", ())


def test_those_that_wait_keep_their_order() -> None:
    subscription = made()
    for n in range(3):
        subscription = tried(subscription, failed(f"e{n}", f"p{n}", f"p{n + 1}"), AT, RULES)
    first = retry_of(subscription, AT + MINUTE_MS)
    assert first is not None
    assert first.event == "e0"
    subscription = tried(subscription, failed("e0", "p0", "p1"), AT + MINUTE_MS, RULES)
    assert [each.event for each in subscription.pending] == ["e0", "e1", "e2"]
    assert [each.tries for each in subscription.pending] == [2, 1, 1]
    assert subscription.watermark == "p0"


def test_no_more_is_read_while_too_many_wait() -> None:
    rules = WebhookRules(pending=2)
    subscription = made()
    for n in range(2):
        subscription = tried(subscription, failed(f"e{n}", f"p{n}", f"p{n + 1}"), AT, rules)
    assert not may_read(subscription, rules)
    assert due_at(subscription, AT, rules, idle=False) == AT + 10_000


def test_a_final_answer_ends_the_event_and_is_no_gap() -> None:
    subscription = tried(made(), failed("a", "p0", "p1", final=True), AT, RULES)
    assert (subscription.pending, subscription.lost, subscription.cursor) == ((), None, "p1")
    assert subscription.last_error is Failure.HTTP_5XX


def test_an_endpoint_that_asks_for_time_gets_it() -> None:
    subscription = tried(made(), failed("a", "p0", "p1", retry_after_ms=90_000), AT, RULES)
    assert subscription.held_until == subscription.pending[0].due_at == AT + 90_000
    assert due_at(subscription, AT, RULES, idle=False) == AT + 90_000
    longest = tried(made(), failed("a", "p0", "p1", retry_after_ms=10**9), AT, RULES)
    assert longest.held_until == AT + RULES.retry_ms[-1]


def fail_often(tries: int, failures: int, spacing_ms: int = 20_000) -> Subscription:
    """After so many tries, the last ones failures."""
    subscription = made()
    for n in range(tries):
        what = Tried(f"e{n}", f"p{n}", f"p{n + 1}")
        if n >= tries - failures:
            what = msgspec.structs.replace(what, failure=Failure.TIMEOUT, final=True)
        subscription = tried(subscription, what, AT + n * spacing_ms, RULES)
    return subscription


def test_an_endpoint_that_nearly_always_fails_is_suspended() -> None:
    assert fail_often(99, 99).suspended_at is None
    assert fail_often(100, 95).suspended_at is None
    suspended = fail_often(100, 96)
    assert suspended.suspended_at == AT + 99 * 20_000
    assert due_at(suspended, AT, RULES, idle=False) is None
    assert fail_often(200, 200, spacing_ms=60_000).suspended_at is None  # 60 an hour


def test_refreshing_goes_on_where_a_suspended_one_stood() -> None:
    subscription = made(
        suspended_at=AT,
        cursor="p9",
        pending=(Pending("a", "p3", 4, AT + 9999),),
        minutes=fail_often(100, 96).minutes,
    )
    again = refreshed(subscription, ME, "one", AT + 5, AT + 1, RULES)
    assert (again.suspended_at, again.cursor, again.minutes) == (None, "p9", ())
    waiting = retry_of(again, AT + 1)
    assert waiting is not None
    assert (waiting.event, waiting.tries, again.watermark) == ("a", 0, "p3")


def test_a_replaced_secret_signs_along_until_its_time_is_up() -> None:
    subscription = refreshed(made(), ME, "two", None, AT, RULES)
    assert subscription.secrets(AT) == "two one"
    assert subscription.secrets(AT + RULES.rotation_ms) == "two"
    assert refreshed(subscription, ME, "two", None, AT + 9, RULES).secrets(AT + 9) == "two one"


def test_what_is_asked_for_is_granted_within_bounds() -> None:
    assert granted(1, RULES) == MINUTE_MS
    assert granted(90_000, RULES) == 90_000
    assert granted(10**12, RULES) == 24 * 60 * MINUTE_MS
    subscription = made(expires_at=AT + 7)
    assert not subscription.expired(AT + 6)
    assert subscription.expired(AT + 7)
    assert due_at(subscription, AT, RULES, idle=True) == AT + 7
    assert due_at(made(), AT, RULES, idle=True) == AT + RULES.look_ms


def test_what_is_gone_from_the_log_is_a_gap() -> None:
    subscription = moved(made(), "p0", "p5", "p5", truncated=True)
    assert (subscription.cursor, subscription.lost) == ("p5", "p5")
    assert moved(subscription, "p0", "p0", "p7", truncated=False) is subscription
    waiting = tried(made(), failed("a", "p0", "p1"), AT, RULES)
    gone = vanished(waiting, "a", "p5")
    assert (gone.pending, gone.lost) == ((), "p5")
    assert vanished(gone, "a", "p6") is gone
