"""The webhook sink, against real receivers over real HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from msgspec.structs import replace

from attend.core.notice import default_notice
from attend.core.types import Decision, Event, Kind, Reason, Route, Window
from attend.errors import PermanentError, SinkError, SinkRejectedError
from attend.signature import read_secrets, signed
from attend.sinks.webhook import Webhook, webhook
from tests.judges.fakes.server import Answer, Exchange, FakeServer

pytestmark = pytest.mark.anyio

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def decision(scope: str = "repo:acme/shop", text: str = "Build 4521 failed ☃") -> Decision:
    """A decision about two events."""
    events = (
        Event(
            "e1",
            "build.failed",
            Kind.CLOSING,
            5,
            b'{"run":4521,"share":1.10,"big":12345678901234567890}',
            text,
            7,
        ),
        Event("e2", "log", Kind.CONSEQUENCE, 6, b"{}", None, 8),
    )
    window = Window(scope, events, Reason.CLOSING, 500, size=200, dropped=3, gap=True, waits=1)
    made = Decision(
        id=window.id,
        scope=scope,
        route=Route.QUEUE,
        reason=Reason.CLOSING,
        decided_at=600,
        notice="",
        event_ids=window.event_ids,
        dropped=3,
        gap=True,
        waits=1,
        starts=2,
        probabilities={"queue": 0.75},
        changed_from=Route.NOTE,
        judge="jev",
        window=window,
    )
    return replace(made, notice=default_notice(made))


@asynccontextmanager
async def receiver(
    *answers: Answer, secret: str | None = SECRET
) -> AsyncGenerator[tuple[FakeServer, Webhook]]:
    """A receiver with its answers queued, and a sink that posts to it."""
    async with FakeServer(lambda exchange: Answer(204)).running() as server:
        server.answers(*answers)
        sink = webhook(f"{server.url}/inbox?key=k3y", secret)
        yield server, sink
        await sink.aclose()


async def test_a_decision_is_posted_as_json_with_its_windows_events() -> None:
    async with receiver() as (server, sink):
        await sink.deliver(decision())
        [came] = server.requests
        assert (came.method, came.path) == ("POST", "/inbox?key=k3y")
        assert came.headers["content-type"] == "application/json"
        body = came.json
        assert body["id"] == came.headers["webhook-id"] == decision().id
        assert {
            key: body[key] for key in ("scope", "route", "reason", "decidedAt", "eventIds", "eventCount")
        } == {
            "scope": "repo:acme/shop",
            "route": "queue",
            "reason": "closing",
            "decidedAt": 600,
            "eventIds": ["e1", "e2"],
            "eventCount": 2,
        }
        assert (body["dropped"], body["gap"], body["waits"], body["starts"], body["degraded"]) == (
            3,
            True,
            1,
            2,
            False,
        )
        assert (body["changedFrom"], body["judge"], body["probabilities"]) == ("note", "jev", {"queue": 0.75})
        assert body["notice"].startswith("Build 4521 failed ☃")
        assert "confidence" not in body
        assert body["window"]["settledAt"] == 500
        first, second = body["window"]["events"]
        assert (first["id"], first["name"], first["kind"], first["at"], first["acceptedAt"]) == (
            *("e1", "build.failed", "closing"),
            *(5, 7),
        )
        assert b'"share":1.10,"big":12345678901234567890' in came.body
        assert "text" not in second


def signature_of(came: Exchange) -> str:
    """What the signature of a request must be."""
    at = int(came.headers["webhook-timestamp"])
    return signed(read_secrets(SECRET), came.headers["webhook-id"], at, came.body)


async def test_every_try_has_the_same_id_and_body_and_a_signature_of_its_own() -> None:
    async with receiver(Answer(500), Answer(503)) as (server, sink):
        for _ in range(2):
            with pytest.raises(SinkError):
                await sink.deliver(decision())
        await sink.deliver(decision())
        assert len({came.body for came in server.requests}) == 1
        assert {came.headers["webhook-id"] for came in server.requests} == {decision().id}
        for came in server.requests:
            assert came.headers["webhook-signature"] == signature_of(came)
            now = datetime.now(UTC).timestamp()
            assert abs(int(came.headers["webhook-timestamp"]) - now) < 120
        assert server.connections == 1


async def test_without_a_secret_nothing_is_signed() -> None:
    async with receiver(secret=None) as (server, sink):
        await sink.deliver(decision())
        assert "webhook-signature" not in server.requests[0].headers


async def test_two_scopes_with_the_same_events_have_different_ids() -> None:
    async with receiver() as (server, sink):
        await sink.deliver(decision("a"))
        await sink.deliver(decision("b"))
        ids = [came.headers["webhook-id"] for came in server.requests]
        assert ids == [came.json["id"] for came in server.requests]
        assert len(set(ids)) == 2


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_any_2xx_is_delivered(status: int) -> None:
    async with receiver(Answer(status, {"anything": 1})) as (_, sink):
        await sink.deliver(decision())


async def test_an_answer_counts_whatever_becomes_of_its_body() -> None:
    async with receiver(Answer(200, b"x" * 100_000, broken=True), Answer(200, b"x" * 1_000_000)) as (_, sink):
        await sink.deliver(decision())
        await sink.deliver(decision())


@pytest.mark.parametrize("status", [410, 413])
async def test_gone_and_too_large_are_final(status: int) -> None:
    async with receiver(Answer(status)) as (_, sink):
        with pytest.raises(SinkRejectedError, match=str(status)) as caught:
            await sink.deliver(decision())
        assert isinstance(caught.value, PermanentError)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504, 599])
async def test_everything_else_is_tried_again(status: int) -> None:
    async with receiver(Answer(status)) as (_, sink):
        with pytest.raises(SinkError, match=str(status)) as caught:
            await sink.deliver(decision())
        assert not isinstance(caught.value, PermanentError)
        assert (caught.value.status, caught.value.retry_after_ms) == (status, None)


DATE = datetime(2026, 11, 30, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"Retry-After": "7"}, 7000),
        ({"Retry-After": "0.5"}, 500),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 250),
        (
            {
                "Retry-After": format_datetime(DATE + timedelta(seconds=9), usegmt=True),
                "Date": format_datetime(DATE, usegmt=True),
            },
            9000,
        ),
        ({"Retry-After": "soon"}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_retry_after_is_understood_in_all_its_forms(
    status: int, headers: dict[str, str], ms: int | None
) -> None:
    async with receiver(Answer(status, headers=headers)) as (_, sink):
        with pytest.raises(SinkError) as caught:
            await sink.deliver(decision())
        assert caught.value.retry_after_ms == ms


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_refused_and_said_to_be(status: int) -> None:
    async with FakeServer(lambda exchange: Answer(204)).running() as elsewhere:
        async with receiver(Answer(status, headers={"Location": f"{elsewhere.url}/s3cret"})) as (_, sink):
            with pytest.raises(
                SinkError, match="sends deliveries elsewhere, which is not followed"
            ) as caught:
                await sink.deliver(decision())
        assert "s3cret" not in str(caught.value)
        assert elsewhere.requests == []


async def test_no_message_repeats_the_address_the_secret_or_an_event() -> None:
    echo = json.dumps({"error": "Build 4521 failed k3y"}).encode()
    async with receiver(Answer(500, echo), Answer(410, echo)) as (server, sink):
        url, said = f"{server.url}/inbox?key=k3y", list[str]()
        for _ in range(2):
            with pytest.raises(SinkError) as caught:
                await sink.deliver(decision())
            said.append(str(caught.value))
    gone = webhook(url, SECRET)
    with pytest.raises(SinkError, match="no answer") as caught:
        await gone.deliver(decision())
    said.append(str(caught.value))
    assert caught.value.__cause__ is None
    for each in said:
        assert "k3y" not in each
        assert "4521" not in each
        assert SECRET[6:] not in each


async def test_a_connection_that_breaks_is_tried_again() -> None:
    async with receiver(Answer(hangs=True)) as (server, _):
        sink_error = None
        async with httpx.AsyncClient(timeout=0.2) as client:
            try:
                await webhook(server.url, client=client).deliver(decision())
            except SinkError as error:
                sink_error = error
        assert sink_error is not None
        assert not isinstance(sink_error, PermanentError)
        assert "ReadTimeout" in str(sink_error)


async def test_a_client_of_the_callers_own_is_used_and_left_open() -> None:
    async with receiver() as (server, _), httpx.AsyncClient(headers={"x-tenant": "shop"}) as client:
        sink = webhook(server.url, client=client)
        await sink.deliver(decision())
        await sink.aclose()
        assert not client.is_closed
        assert server.requests[0].headers["x-tenant"] == "shop"
