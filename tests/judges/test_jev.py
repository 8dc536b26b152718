"""Jev over HTTP: what is asked, what is read, and how it asks again with less."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from attend.core.types import Route
from attend.errors import ConfigError, ContextLengthError, JudgeError
from attend.judges.jev import Jev, jev_judge
from tests.judges.fakes.jev import KEY, FakeJev, refused
from tests.judges.fakes.server import Answer
from tests.judges.windows import RECENT, acts_in, asked, crowd, event, events_bytes, window

pytestmark = pytest.mark.anyio
PREDICATES = {"asked": "Did the user ask the agent for this?"}


async def test_one_call_asks_for_the_route_and_every_predicate(fake_jev: FakeJev, jev_of: Jev) -> None:
    judgment = await jev_of(asked(guidance="Be quiet.", predicates=PREDICATES, recent=RECENT))
    assert judgment.route == "queue"
    assert judgment.probabilities == fake_jev.probabilities
    assert judgment.confidence == 0.41
    assert judgment.predicates == {"asked": 0.04}
    assert judgment.judge == "jev:jev-1.14.0"
    (request,) = fake_jev.requests
    assert (request.method, request.path) == ("POST", "/v1/systemone")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert not [name for name in request.headers if "danger-zone" in name]
    body = request.json
    assert body.keys() == {"model", "state", "questions"}
    assert body["model"] == "jev-latest"
    assert body["state"]["guidance"] == "Be quiet."
    assert body["questions"].keys() == {"route", "p:asked"}
    assert list(body["questions"]["route"]["criteria"]) == [route.value for route in Route]
    assert body["questions"]["p:asked"] == {"type": "noul", "instructions": PREDICATES["asked"]}


async def test_only_what_is_offered_is_asked_about_in_the_words_given(fake_jev: FakeJev) -> None:
    judge = jev_judge(
        KEY, endpoint=f"{fake_jev.url}/v1/systemone", model="jev-1.13.0", criteria={"queue": "Do it."}
    )
    routes = tuple(route for route in Route if route is not Route.WAIT)
    judgment = await judge(asked(routes=routes))
    await judge.aclose()
    criteria = fake_jev.requests[0].json["questions"]["route"]["criteria"]
    assert "wait" not in criteria
    assert criteria["queue"] == "Do it."
    assert "wait" not in (judgment.probabilities or {})
    assert judgment.judge == "jev:jev-1.13.0"


async def test_a_server_on_this_machine_needs_no_key() -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        judge = jev_judge(endpoint=f"{fake.url}/v1/systemone", context_tokens=512)
        assert (await judge(asked())).route == "queue"
        await judge.aclose()
    assert "authorization" not in fake.requests[0].headers
    assert judge.context_tokens == 512


async def test_headers_of_ones_own_authorize_instead_of_the_key(fake_jev: FakeJev) -> None:
    fake_jev.answers(Answer(200, {"answers": {"route": {"type": "choice", "choice": "note"}}}))
    judge = jev_judge(
        "unused", endpoint=f"{fake_jev.url}/alpha", headers={"Authorization": "Basic abc", "x-team": "a"}
    )
    judgment = await judge(asked())
    await judge.aclose()
    assert (judgment.route, judgment.probabilities, judgment.confidence) == ("note", None, None)
    assert fake_jev.requests[0].headers["authorization"] == "Basic abc"
    assert fake_jev.requests[0].headers["x-team"] == "a"


async def test_connections_are_kept_and_a_client_of_ones_own_is_used_and_left_open(fake_jev: FakeJev) -> None:
    async with httpx.AsyncClient(follow_redirects=True) as client:
        judge = jev_judge(KEY, endpoint=f"{fake_jev.url}/v1/systemone", client=client)
        await judge(asked())
        await judge(asked())
        assert fake_jev.connections == 1
        await judge.aclose()
        assert not client.is_closed
        fake_jev.answers(Answer(307, None, {"location": f"{fake_jev.url}/elsewhere"}))
        with pytest.raises(JudgeError, match="307: it sends the request elsewhere"):
            await judge(asked())
    assert {request.path for request in fake_jev.requests} == {"/v1/systemone"}


async def test_long_context_is_a_header_and_a_larger_budget(fake_jev: FakeJev) -> None:
    judge = jev_judge(KEY, endpoint=f"{fake_jev.url}/v1/systemone", long_context=True)
    await judge(asked(crowd(240, size=1000)))
    await judge.aclose()
    assert judge.context_tokens == 262_144
    assert fake_jev.requests[0].headers["typesafe-danger-zone-long-context"] == "true"
    assert len(fake_jev.requests[0].json["state"]["window"]["events"]) == 241


async def test_a_window_over_the_budget_is_shown_without_its_oldest_lines(
    fake_jev: FakeJev, jev_of: Jev
) -> None:
    of = crowd(240, size=1000, acts=4)
    await jev_of(asked(of))
    (request,) = fake_jev.requests
    assert len(request.body) <= 32_000 * 3
    assert len(request.body) > 28_000 * 3
    assert acts_in(request.json) == [each.text for each in of.events if each.kind.is_act]


@pytest.mark.parametrize(
    "rejection",
    [
        refused(400, "max_tokens_exceeded"),
        Answer(400, {"error_type": "max_tokens_exceeded"}),
        Answer(413, b"<html>Request Entity Too Large</html>"),
        Answer(400, {"error": {"code": 400, "message": "This model's maximum context length is 512"}}),
        Answer(400, {"error": {"type": "exceed_context_size_error", "code": 400, "message": "no"}}),
    ],
)
async def test_a_window_too_long_is_asked_about_once_more_halved(
    fake_jev: FakeJev, jev_of: Jev, rejection: Answer
) -> None:
    of = crowd(100, acts=5)
    fake_jev.answers(rejection)
    assert (await jev_of(asked(of))).route == "queue"
    first, second = (request.json for request in fake_jev.requests)
    assert events_bytes(second) <= events_bytes(first) / 2
    assert events_bytes(second) > events_bytes(first) / 2.3
    assert acts_in(second) == [each.text for each in of.events if each.kind.is_act]
    fake_jev.answers(rejection, rejection)
    with pytest.raises(ContextLengthError):
        await jev_of(asked(of))
    assert len(fake_jev.requests) == 4


async def test_a_window_of_acts_alone_is_not_sent_twice_the_same(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(refused(400, "max_tokens_exceeded"))
    with pytest.raises(
        ContextLengthError, match="400 max_tokens_exceeded: the window is too long for the model"
    ):
        await jev_of(asked(window(event(text="x" * 1000))))
    assert len(fake_jev.requests) == 1


def choice(**fields: Any) -> Answer:
    return Answer(
        200, {"answers": {"route": {"type": "choice", "choice": "queue", **fields}}}, {"x-request-id": "r-9"}
    )


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(200, {"answers": {}}), "its answer about the route is missing"),
        (Answer(200, {}), "answers is missing"),
        (Answer(200, []), "its reply is missing or no object"),
        (Answer(200, b"not JSON"), "its reply is not JSON"),
        (Answer(200, b"[" * 100_000), "its reply is not JSON"),
        (Answer(200, b""), "its reply is not JSON"),
        (choice(choice="page"), "names no route that was offered"),
        (choice(choice="Queue"), "names no route that was offered"),
        (choice(choice=None), "names no route that was offered"),
        (choice(choice=["queue"]), "names no route that was offered"),
        (choice(probabilities={"queue": float("nan")}), "not JSON"),
        (choice(probabilities={"queue": "NaN"}), "the probability of queue is no number"),
        (choice(probabilities={"queue": 52}), "the probability of queue is 52, not from 0 to 1"),
        (choice(probabilities={"queue": -0.1}), "the probability of queue is -0.1, not from 0 to 1"),
        (choice(probabilities=[0.5]), "its probabilities is missing or no object"),
        (choice(confidence="high"), "its confidence is no number"),
        (choice(confidence=True), "its confidence is no number"),
        (Answer(200, b"x" * (4 * 1024 * 1024 + 1)), "its reply is over"),
        (
            Answer(
                200, {"answers": {"route": {"choice": "queue"}, "p:asked": {"type": "noul", "noul": "0.5"}}}
            ),
            "its answer to asked is no number",
        ),
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_failure_to_try_again(
    fake_jev: FakeJev, jev_of: Jev, answer: Answer, says: str
) -> None:
    fake_jev.answers(answer)
    with pytest.raises(JudgeError, match=says) as caught:
        await jev_of(asked(predicates=PREDICATES))
    assert type(caught.value) is JudgeError
    assert caught.value.status == 200
    assert len(fake_jev.requests) == 1


@pytest.mark.parametrize(
    ("answer", "probabilities"),
    [
        (choice(), None),
        (choice(probabilities={}), None),
        (choice(probabilities={"queue": 0.2, "note": 0.2}), {"queue": 0.2, "note": 0.2}),
        (choice(probabilities={"queue": 0.9, "page": 0.8}), {"queue": 0.9}),
        (choice(probabilities={"queue": 1.001}), {"queue": 1.0}),
        (choice(probabilities={"queue": 1, "note": 0}), {"queue": 1.0, "note": 0.0}),
    ],
)
async def test_probabilities_are_passed_on_as_they_were_given(
    fake_jev: FakeJev, jev_of: Jev, answer: Answer, probabilities: dict[str, float] | None
) -> None:
    fake_jev.answers(answer)
    judgment = await jev_of(asked(predicates=PREDICATES))
    assert judgment.probabilities == probabilities
    assert judgment.predicates is None


async def test_answers_of_types_that_came_later_are_passed_over(fake_jev: FakeJev, jev_of: Jev) -> None:
    answers = {
        "route": {"type": "choice", "choice": "queue", "weather": 1},
        "p:asked": {"type": "trinary", "third": 0.3},
        "mood": {"type": "mood"},
    }
    fake_jev.answers(Answer(200, {"model": "<b>", "answers": answers}))
    judgment = await jev_of(asked(predicates=PREDICATES))
    assert (judgment.route, judgment.predicates, judgment.judge) == ("queue", None, "jev:jev-latest")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "it has no key"),
        ({"api_key": ""}, "it has no key"),
        ({"api_key": "sé\ncret"}, "its key must be printable"),
        ({"api_key": "k", "headers": {"x": "a\nb"}}, "no header can carry"),
        ({"api_key": "k", "endpoint": "http://api.typesafe.ai/v1/systemone"}, "use https"),
        ({"api_key": "k", "endpoint": "https://user:hunter2@api.typesafe.ai/"}, "holds a name or a password"),
        ({"api_key": "k", "endpoint": "api.typesafe.ai"}, "must be a whole one"),
        ({"api_key": "k", "endpoint": "https://[::1/"}, "cannot be read"),
        ({"api_key": "k", "model": " "}, "its model has no name"),
        ({"api_key": "k", "criteria": {"page": "x"}}, "'page' is no route"),
        ({"api_key": "k", "criteria": {"note": " "}}, "'note' has no words"),
        ({"api_key": "k", "context_tokens": -1}, "context_tokens is -1"),
    ],
)
def test_what_cannot_work_is_refused_at_once_without_showing_a_secret(
    options: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=says) as caught:
        jev_judge(**options)
    assert "hunter2" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_the_environments_key_goes_to_typesafe_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "tk-env")
    assert "tk-env" not in repr(jev_judge())
    with pytest.raises(ConfigError, match="it has no key"):
        jev_judge(endpoint="https://openrouter.ai/api/alpha/decisions")
    with pytest.raises(ConfigError, match="it has no key"):
        jev_judge(endpoint="https://api.typesafe.ai.example.com/v1/systemone")
