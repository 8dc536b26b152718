"""What each error of a judge's server becomes: tried again or not, with what it said, and with no secret in it."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

from attend.errors import (
    ContextLengthError,
    JudgeError,
    JudgeRejectedError,
    PermanentError,
)
from attend.judges.decisions import Decisions
from attend.judges.fault import said
from attend.judges.jev import Jev, jev_judge
from attend.judges.wire import Wire
from tests.judges.fakes import decisions, jev
from tests.judges.fakes.decisions import FakeDecisions
from tests.judges.fakes.jev import NO_KEY, UNAUTHENTICATED, FakeJev
from tests.judges.fakes.server import Answer
from tests.judges.windows import asked, event, window

pytestmark = pytest.mark.anyio
CANARY = "hunter2canary"

again: list[tuple[Answer, str, int | None]] = [
    (
        jev.refused(429, "rate_limit_error", "…", retry_after="2"),
        "429 rate_limit_error: it is asked too often",
        2000,
    ),
    (jev.refused(429, "rate_limit_error", "…", retry_after_ms="1500"), "asks for 1500 ms", 1500),
    (jev.refused(429, "rate_limit_error", "…", retry_after="3600"), "asks for 3600000 ms", 3_600_000),
    (
        jev.refused(
            429,
            "rate_limit_error",
            date="Mon, 30 Nov 2026 16:00:00 GMT",
            retry_after="Mon, 30 Nov 2026 16:01:00 GMT",
        ),
        "asks for 60000 ms",
        60_000,
    ),
    (jev.refused(429, "rate_limit_error", "…"), "asked too often", None),
    (jev.refused(429, "rate_limit_error", "…", retry_after="garbage"), "asked too often", None),
    (jev.refused(529, "overloaded_error"), "529 overloaded_error: it is overloaded", None),
    (
        Answer(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "overloaded",
        None,
    ),
    (Answer(503), "503: it is overloaded", None),
    (Answer(503, None, {"retry-after": "7"}), "503: it is overloaded, and asks for 7000 ms", 7000),
    (Answer(500, b"<h1>oops</h1>", {"content-type": "text/html"}), "500: it failed", None),
    (Answer(502, b"\xff\xfe"), "502: it failed", None),
    (Answer(408, {"detail": "timeout"}), "408: it ran out of time", None),
    (
        decisions.refused(429, "requests", "rate_limit_exceeded", retry_after="1"),
        "429 rate_limit_exceeded",
        1000,
    ),
    (decisions.refused(503, "server_error", "server_is_overloaded"), "503 server_is_overloaded", None),
    (
        Answer(200, {"error": {"code": 429, "message": "slow"}}, {"retry-after": "1"}),
        "429: it is asked too often",
        1000,
    ),
]

never: list[tuple[Answer, str]] = [
    (
        jev.refused(401, "authentication_error", UNAUTHENTICATED),
        "401 authentication_error: the key was not accepted",
    ),
    (
        jev.refused(403, "authentication_error", NO_KEY),
        "403 authentication_error: the key is missing, or may not",
    ),
    (
        jev.refused(400, "api_usage_error", "Invalid image dimensions"),
        "400 api_usage_error: it turned the request",
    ),
    (
        jev.refused(400, "api_usage_error", "Unknown model: jev-nope"),
        "api_usage_error: it does not know the model",
    ),
    (jev.refused(402, "billing_error", "…"), "402 billing_error: there is no credit for it"),
    (
        Answer(
            422,
            {
                "detail": [
                    {"loc": ["body", "state"], "msg": "Field required", "type": "missing", "input": CANARY}
                ]
            },
        ),
        "422: the request does not have the form it takes",
    ),
    (Answer(404, {"detail": "Not Found"}), "404: there is no such address or model"),
    (Answer(501, {"error": {"message": "no such model type"}}), "501: it cannot do this"),
    (Answer(302, None, {"location": "https://elsewhere.example"}), "302: it sends the request elsewhere"),
    (Answer(409), "409: it turned the request down"),
    (jev.refused(429, "billing_error", "…"), "429 billing_error: its quota or budget is used up"),
    (jev.refused(503, "credit_exhausted", "…"), "its quota or budget is used up"),
    (Answer(400, {"error": {"code": 400, "message": "no"}}), "400: it turned"),
    (Answer(402, {"error": {"code": 402, "message": "Insufficient credits"}}), "402: there is no credit"),
    (Answer(200, {"error": {"code": 402, "message": "Insufficient credits"}}), "402: there is no credit"),
    (
        Answer(429, {"error": {"code": 429, "metadata": {"error_type": "payment_required"}}}),
        "429 payment_required",
    ),
    (
        decisions.refused(401, "invalid_request_error", "invalid_api_key"),
        "401 invalid_api_key: the key was not",
    ),
    (
        decisions.refused(404, "invalid_request_error", "model_not_found"),
        "model_not_found: it does not know the model",
    ),
    *[
        (decisions.refused(429, "x", code), f"429 {code}: its quota or budget is used up")
        for code in (
            "insufficient_quota",
            "billing_hard_limit_reached",
            "credit_balance_exhausted",
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
        )
    ],
]


@pytest.mark.parametrize(("answer", "says", "wait_ms"), again)
async def test_trouble_that_passes_is_a_failure_to_try_again(
    fake_jev: FakeJev, jev_of: Jev, answer: Answer, says: str, wait_ms: int | None
) -> None:
    fake_jev.answers(answer)
    error = await raised(jev_of)
    assert type(error) is JudgeError
    assert says in str(error)
    assert error.retry_after_ms == wait_ms
    assert error.status == (answer.status if answer.status != 200 else 429)
    assert len(fake_jev.requests) == 1


@pytest.mark.parametrize(("answer", "says"), never)
async def test_what_another_try_cannot_help_is_permanent(
    fake_jev: FakeJev, jev_of: Jev, answer: Answer, says: str
) -> None:
    answer.headers["retry-after"] = "5"
    fake_jev.answers(answer)
    error = await raised(jev_of)
    assert type(error) is JudgeRejectedError
    assert isinstance(error, PermanentError)
    assert says in str(error)
    assert error.retry_after_ms == 5000
    assert error.status == (answer.status if answer.status != 200 else 402)
    assert len(fake_jev.requests) == 1


@pytest.mark.parametrize("name", ["x-typesafe-request-id", "x-request-id", "request-id"])
async def test_the_other_sides_name_for_the_request_is_kept(
    fake_jev: FakeJev, jev_of: Jev, name: str
) -> None:
    fake_jev.answers(Answer(500, None, {name: "req-7"}), Answer(500, None, {name: "<script>"}), Answer(500))
    assert [(await raised(jev_of)).request_id for _ in range(3)] == ["req-7", None, None]


ECHOES: list[Any] = [
    CANARY,
    {"detail": CANARY},
    {"detail": {"error_type": CANARY, "message": CANARY}},
    {"detail": [{"loc": ["body", CANARY], "msg": CANARY, "type": CANARY, "input": {"text": CANARY}}]},
    {"error": CANARY},
    {"error": {"message": f"{CANARY} {jev.KEY}", "type": CANARY, "code": jev.KEY, "param": CANARY}},
    {"error": {"code": 400, "metadata": {"error_type": CANARY}}},
    {"error_type": jev.KEY, "message": jev.KEY},
]


@pytest.mark.parametrize("body", ECHOES)
@pytest.mark.parametrize("status", [200, 400, 413, 422, 429, 500])
async def test_no_error_repeats_an_events_text_or_the_key(
    fake_jev: FakeJev, jev_of: Jev, body: Any, status: int
) -> None:
    fake_jev.answers(Answer(status, body, {"x-request-id": CANARY}))
    error = await raised(jev_of, text=CANARY)
    shown = "".join(traceback.format_exception(error)) + repr(error.__dict__) + repr(jev_of)
    assert CANARY not in shown
    assert jev.KEY not in shown


async def test_a_wrong_or_missing_key_is_permanent(fake_jev: FakeJev, fake_decisions: FakeDecisions) -> None:
    for key, says in (("wrong", "401"), (None, "403")):
        judge = jev_judge(key, endpoint=f"{fake_jev.url}/v1/systemone")
        error = await raised(judge)
        await judge.aclose()
        assert isinstance(error, JudgeRejectedError)
        assert says in str(error)


async def test_a_connection_that_breaks_or_is_refused_is_tried_again(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(Answer(200, {"answers": {"route": {"choice": "queue"}}}, broken=True))
    error = await raised(jev_of)
    assert type(error) is JudgeError
    assert (str(error), error.status) == ("jev: no answer (RemoteProtocolError)", None)
    gone = jev_judge(endpoint="http://127.0.0.1:1/v1/systemone")
    error = await raised(gone)
    await gone.aclose()
    assert (type(error), str(error)) == (JudgeError, "jev: no answer (ConnectError)")


async def test_a_body_in_an_encoding_that_lies_is_tried_again(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(Answer(200, b"not gzip", {"content-encoding": "gzip"}))
    assert str(await raised(jev_of)) == "jev: no answer (DecodingError)"


async def test_a_server_that_hangs_lets_itself_be_cancelled(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(Answer(hangs=True))
    call = asyncio.ensure_future(jev_of(asked()))
    await asyncio.wait_for(fake_jev.arrived.wait(), 60)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await jev_of(asked())).route == "queue"


async def test_openais_errors_come_out_of_the_decisions_judge(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    fake_decisions.answers(
        decisions.refused(400, "invalid_request_error", "context_length_exceeded", message="too long"),
        decisions.refused(429, "requests", "rate_limit_exceeded", retry_after="1"),
        decisions.refused(429, "insufficient_quota", "insufficient_quota"),
        decisions.refused(503, "server_error", "server_is_overloaded"),
    )
    errors = [await raised(decisions_of) for _ in range(4)]
    assert [type(error) for error in errors] == [
        ContextLengthError,
        JudgeError,
        JudgeRejectedError,
        JudgeError,
    ]
    assert [error.status for error in errors] == [400, 429, 429, 503]
    assert {error.request_id for error in errors} == {"req_bad"}
    assert str(errors[1]) == "decisions: 429 rate_limit_exceeded: it is asked too often, and asks for 1000 ms"


def test_every_envelope_is_read() -> None:
    assert said({"detail": {"error_type": "a", "message": "b"}}).codes == ("a",)
    assert said({"error_type": "a"}).codes == ("a",)
    assert said({"error": {"type": "t", "code": "c"}}).codes == ("c", "t")
    assert said({"type": "error", "error": {"type": "overloaded_error"}}).codes == ("overloaded_error",)
    assert said({"detail": [{"loc": ["body", "assets", "x"], "msg": "m"}]}).words == "m\nbody\nassets"
    others: list[Any] = [None, 1, "x", [], {"error": []}, {"detail": [1]}, {"error": {"type": 1}}]
    for other in others:
        assert said(other).codes == ()


def test_a_wire_shows_no_key() -> None:
    assert repr(Wire("jev", "https://x.example/", {"authorization": "Bearer abc"})) == "<jev>"


async def raised(judge: Jev | Decisions, text: str = "1 test failed") -> JudgeError:
    with pytest.raises(JudgeError) as caught:
        await judge(asked(window(event(text=text)), predicates={"asked": "Was it asked for?"}))
    return caught.value
