"""The Decisions API over HTTP: what is asked and what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attend.core.types import Route
from attend.errors import ConfigError, ContextLengthError, JudgeError, JudgeRefusedError, PermanentError
from attend.judges.decisions import Decisions, decisions_judge
from attend.judges.image import ImageProblem
from tests.judges.fakes.decisions import KEY, FakeDecisions, refused
from tests.judges.fakes.picture import image, png
from tests.judges.fakes.server import Answer
from tests.judges.windows import asked, crowd

pytestmark = pytest.mark.anyio
PREDICATES = {"asked": "The user asked the agent for this.", "late": "It is late."}


async def test_one_call_asks_for_the_route_and_every_predicate(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    judgment = await decisions_of(asked(guidance="Be quiet.", predicates=PREDICATES))
    assert (judgment.route, judgment.confidence) == ("note", 0.62)
    assert judgment.probabilities is not None
    assert judgment.probabilities["note"] == 0.79
    assert judgment.probabilities.keys() == {route.value for route in Route}
    assert judgment.predicates == {"asked": 0.07, "late": 0.07}
    assert judgment.judge == "decisions:gpt-6-luna"
    (request,) = fake_decisions.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    assert [question["type"] for question in body["questions"]] == ["choice", "predicate", "predicate"]
    assert [choice["value"] for choice in body["questions"][0]["choices"]] == [route.value for route in Route]
    (part,) = body["input"][0]["content"]
    assert json.loads(part["text"])["guidance"] == "Be quiet."


async def test_a_refusal_of_the_route_is_permanent_and_of_a_predicate_leaves_it_out(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    fake_decisions.refuses = {"p:asked"}
    judgment = await decisions_of(asked(predicates=PREDICATES))
    assert (judgment.route, judgment.predicates) == ("note", {"late": 0.07})
    fake_decisions.refuses = {"route"}
    with pytest.raises(JudgeRefusedError, match="refused") as caught:
        await decisions_of(asked(predicates=PREDICATES))
    assert isinstance(caught.value, PermanentError)
    assert (caught.value.status, caught.value.request_id) == (200, "req_2")
    assert len(fake_decisions.requests) == 2


async def test_one_route_on_offer_is_not_asked_about(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    only = (Route.QUEUE,)
    assert (await decisions_of(asked(routes=only))).route == "queue"
    assert fake_decisions.requests == []
    judgment = await decisions_of(asked(routes=only, predicates=PREDICATES))
    assert (judgment.route, judgment.predicates) == ("queue", {"asked": 0.07, "late": 0.07})


async def test_answers_without_names_are_taken_in_the_order_of_their_questions(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    answers = [{"type": "choice", "choice": "ask"}, {"type": "predicate", "probability": 0.5}]
    fake_decisions.answers(Answer(200, {"answers": answers}))
    judgment = await decisions_of(asked(predicates=PREDICATES))
    assert (judgment.route, judgment.predicates, judgment.probabilities) == ("ask", {"asked": 0.5}, None)


async def test_up_to_128_pictures_of_any_format_go_first(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    told: list[ImageProblem] = []
    judge = decisions_judge(
        KEY, "gpt-6-luna", endpoint=f"{fake_decisions.url}/v1/decisions", on_image_error=told.append
    )
    given = [image(f"gif {at}".encode(), "image/gif") for at in range(129)]
    await judge(asked(images=tuple(given)))
    await judge.aclose()
    content = fake_decisions.requests[0].json["input"][0]["content"]
    assert [part["type"] for part in content] == ["input_image"] * 128 + ["input_text"]
    assert content[0]["image_url"] == f"data:image/gif;base64,{given[0].data}"
    assert [problem.index for problem in told] == [128]


async def test_pictures_that_are_not_taken_are_left_out_once(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    fake_decisions.answers(
        refused(
            400, "invalid_request_error", "invalid_image_format", message="bad", param="input[0].content[0]"
        )
    )
    assert (await decisions_of(asked(images=(image(png()),)))).route == "note"
    counts = [len(request.json["input"][0]["content"]) for request in fake_decisions.requests]
    assert counts == [2, 1]


async def test_a_window_too_long_is_halved_once(
    fake_decisions: FakeDecisions, decisions_of: Decisions
) -> None:
    of = crowd(100, acts=4)
    fake_decisions.limit_bytes = 20_000
    assert (await decisions_of(asked(of))).route == "note"
    assert len(fake_decisions.requests) == 2
    text = fake_decisions.requests[1].json["input"][0]["content"][0]["text"]
    shown = [each["text"] for each in json.loads(text)["window"]["events"] if each["kind"] == "flush"]
    assert shown == [each.text for each in of.events if each.kind.is_act]
    fake_decisions.limit_bytes = 100
    with pytest.raises(ContextLengthError):
        await decisions_of(asked(of))
    assert len(fake_decisions.requests) == 4


async def test_a_context_that_was_declared_is_kept_to(fake_decisions: FakeDecisions) -> None:
    judge = decisions_judge(
        KEY, "gpt-6-luna", endpoint=f"{fake_decisions.url}/v1/decisions", context_tokens=4096
    )
    await judge(asked(crowd(100)))
    await judge.aclose()
    assert judge.context_tokens == 4096
    text = fake_decisions.requests[0].json["input"][0]["content"][0]["text"]
    # The model reads the text and the questions; the quotes escaped on the wire are not part of it.
    assert 5000 < len(text) <= (4096 - 1024) * 3


@pytest.mark.parametrize(
    "answers",
    [
        {},
        [],
        [{"type": "choice", "name": "route", "choice": "page"}],
        [{"type": "choice", "name": "other", "choice": "note"}],
        [{"type": "choice", "name": "route", "choice": "note", "probabilities": {"note": 1}}],
        [{"type": "choice", "name": "route", "choice": "note", "probabilities": ["note"]}],
        [
            {
                "type": "choice",
                "name": "route",
                "choice": "note",
                "probabilities": [{"value": "note", "probability": "1"}],
            }
        ],
        [
            {"type": "choice", "name": "route", "choice": "note"},
            {"type": "predicate", "name": "p:asked", "probability": 3},
        ],
        ["note"],
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_failure_to_try_again(
    fake_decisions: FakeDecisions, decisions_of: Decisions, answers: Any
) -> None:
    fake_decisions.answers(Answer(200, {"answers": answers}))
    with pytest.raises(JudgeError) as caught:
        await decisions_of(asked(predicates=PREDICATES))
    assert type(caught.value) is JudgeError
    assert len(fake_decisions.requests) == 1


def test_a_model_and_a_key_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="give the model"):
        decisions_judge("k")
    with pytest.raises(ConfigError, match="it has no key"):
        decisions_judge(model="gpt-6-luna")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    assert "sk-env" not in repr(decisions_judge(model="gpt-6-luna"))
    with pytest.raises(ConfigError, match="it has no key"):
        decisions_judge(model="gpt-6-luna", endpoint="https://example.com/v1/decisions")
