"""Why a decision is what it is: everything that is kept of it, in the order in which it came about."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from attend.core.account import Account, Arrival
from attend.core.attempt import Attempt, End, Past
from attend.core.settled import why_settled
from attend.core.threshold import ACTING
from attend.core.types import Kind, Reason, Route, Stage, Summary, Window

TEXT = 200
"""Characters of an event's text that are shown."""


class EventLine(Struct, frozen=True, rename="camel"):
    """An event of the window: when its producer says it was, when it came, and how long before the window settled."""

    id: str
    name: str
    kind: Kind
    at: int
    accepted_at: int
    before_settle_ms: int
    text: str | None


class Settled(Struct, frozen=True, rename="camel", kw_only=True):
    """When and why the window settled.

    `limit` is the rule's number behind the reason (milliseconds; bytes for `size`, acts for `overflow`), where it
    was kept. `dropped` counts the non-acts shed before, `waits` how often it was held.
    """

    at: int
    reason: Reason
    why: str
    limit: int | None
    first_event_at: int | None
    bytes: int
    dropped: int
    gap: bool
    waits: int


class Start(Struct, frozen=True, rename="camel"):
    """An earlier start of a call: when and how it ended, and what it said."""

    at: int
    end: End
    message: str


class Threshold(Struct, frozen=True, rename="camel"):
    """The act threshold: p(interrupt) + p(ask) beside it, and what it made of the judge's route.

    `act_share` is None where the judge gave no probabilities, and the threshold then changes nothing.
    """

    threshold: float
    act_share: float | None
    judged: Route
    route: Route

    @property
    def changed(self) -> bool:
        """Whether the route is another for it."""
        return self.judged is not self.route


class Judging(Struct, frozen=True, rename="camel", kw_only=True):
    """Who judged and how: what was on offer, what came back, how long it took and how many starts it needed.

    What was not kept is None: `judge` where it gives no name, `ms` and `facts` where nobody was asked or the
    decision is of before they were kept. `facts_bytes` says how many there were where they were too many to keep.
    """

    judge: str | None
    degraded: bool
    offered: list[Route] | None
    route: Route
    confidence: float | None
    probabilities: dict[str, float] | None
    predicates: dict[str, float] | None
    threshold: Threshold | None
    ms: int | None
    images: int
    facts: Any
    facts_bytes: int
    starts: int
    failures: int | None
    losses: int | None
    past: list[Start]


class Logged(Struct, frozen=True, rename="camel"):
    """Where the decision's row is in the log, and when it was decided and written: one commit."""

    at: int
    n: int | None
    id: str | None


class Arriving(StrEnum):
    """How far a decision, or a dead letter, has come."""

    LOGGED = "logged"
    """It is in the log, and nobody takes decisions in process."""
    WAITING = "waiting"
    """It waits in the outbox for its turn, or for its next start."""
    DELIVERED = "delivered"
    """The sink took it."""
    DEAD = "dead"
    """It was given up on: a dead letter, that is kept or waits for its handler."""
    BURIED = "buried"
    """The dead-letter handler took it."""


class Delivery(Struct, frozen=True, rename="camel", kw_only=True):
    """How it got to where it is. `at` is when it arrived, or was given up; `next_at` when it is tried next."""

    status: Arriving
    at: int | None = None
    next_at: int | None = None
    starts: int | None = None
    message: str | None = None
    stage: Stage | None = None
    past: list[Start] = []


class Explanation(Struct, frozen=True, rename="camel", kw_only=True):
    """Everything that is kept of a decision. Of a dead letter whose judge never answered, `judging` is None."""

    decision_id: str
    scope: str
    route: Route | None
    notice: str | None
    settled: Settled
    events: list[EventLine]
    judging: Judging | None
    logged: Logged | None
    delivery: Delivery


def explain(
    window: Window,
    summary: Summary | None,
    account: Account | None,
    delivery: Delivery,
    logged: Logged | None,
) -> Explanation:
    """What there is to say of a window and the decision about it."""
    limit = None if account is None else account.limit
    return Explanation(
        decision_id=window.id,
        scope=window.scope,
        route=None if summary is None else summary.route,
        notice=None if summary is None else summary.notice,
        settled=Settled(
            at=window.settled_at,
            reason=window.reason,
            why=why_settled(window, limit),
            limit=limit,
            first_event_at=window.events[0].accepted_at if window.events else None,
            bytes=window.size,
            dropped=window.dropped,
            gap=window.gap,
            waits=window.waits,
        ),
        events=[
            EventLine(
                event.id,
                event.name,
                event.kind,
                event.at,
                event.accepted_at,
                window.settled_at - event.accepted_at,
                None if event.text is None else _cut(event.text),
            )
            for event in window.events
        ],
        judging=None if summary is None else _judging(summary, account),
        logged=logged,
        delivery=delivery,
    )


def _judging(summary: Summary, account: Account | None) -> Judging:
    asked = None if account is None else account.asked
    facts = None if asked is None else asked.facts_json
    return Judging(
        judge=summary.judge,
        degraded=summary.degraded,
        offered=None if account is None else list(account.offered),
        route=summary.changed_from or summary.route,
        confidence=summary.confidence,
        probabilities=summary.probabilities,
        predicates=summary.predicates,
        threshold=None if account is None else _threshold(summary, account),
        ms=None if asked is None else asked.ms,
        images=0 if asked is None else asked.images,
        facts=None if facts is None else msgspec.json.decode(facts),
        facts_bytes=0 if asked is None else asked.facts_bytes,
        starts=summary.starts,
        failures=None if account is None else account.failures,
        losses=None if account is None else account.losses,
        past=[] if account is None else starts(account.past),
    )


def _threshold(summary: Summary, account: Account) -> Threshold | None:
    if account.threshold is None:
        return None
    shares = summary.probabilities
    acts = None if shares is None else sum(shares.get(route, 0.0) for route in ACTING)
    return Threshold(account.threshold, acts, summary.changed_from or summary.route, summary.route)


def starts(past: Iterable[Past]) -> list[Start]:
    """Earlier starts, as they are shown."""
    return [Start(each.at, each.end, each.message) for each in past]


def arrived(arrival: Arrival | None) -> Delivery:
    """A delivery that has ended, with what was kept of that."""
    if arrival is None:
        return Delivery(status=Arriving.DELIVERED)
    return Delivery(
        status=Arriving.BURIED if arrival.buried else Arriving.DELIVERED,
        at=arrival.at,
        starts=arrival.starts,
        past=starts(arrival.past),
    )


def waiting(attempt: Attempt) -> Delivery:
    """A delivery that is still to come."""
    return Delivery(
        status=Arriving.WAITING, next_at=attempt.next_at, starts=attempt.starts, past=starts(attempt.past)
    )


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"
