"""A judge on any model: what it is asked, what is taken from what it writes, and the same over three APIs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import anthropic
import openai
import pytest

from attend.core.types import Route
from attend.errors import (
    ConfigError,
    ContextLengthError,
    JudgeError,
    JudgeRefusedError,
    JudgeRejectedError,
)
from attend.judges.adapters import anthropic_complete, chat_complete, responses_complete
from attend.judges.base import JudgeImage
from attend.judges.chat import chat_endpoint
from attend.judges.criteria import DEFAULT_SYSTEM
from attend.judges.llm import Complete, Llm, llm_judge, verdict_schema
from tests.judges.fakes import models
from tests.judges.fakes.decisions import refused
from tests.judges.fakes.models import KEY, FakeModel, chat, message, prompt_of, response, verdict
from tests.judges.fakes.picture import image, png
from tests.judges.fakes.server import Answer
from tests.judges.windows import asked, crowd, event, window

pytestmark = pytest.mark.anyio
PREDICATES = {"asked": "Did the user ask for this?"}
APIS = ("endpoint", "chat", "responses", "anthropic")


@pytest.fixture(params=APIS)
async def llm(request: pytest.FixtureRequest, fake_model: FakeModel) -> AsyncGenerator[Llm]:
    """The judge on the same model over each API, with the SDKs' own clients."""
    api: str = request.param
    if api == "endpoint":
        judge = llm_judge(chat_endpoint(f"{fake_model.url}/v1/chat/completions", "m", api_key=KEY))
        yield judge
        await judge.aclose()
    elif api == "anthropic":
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=fake_model.url) as claude:
            yield llm_judge(anthropic_complete(claude, "m"))
    else:
        adapter = chat_complete if api == "chat" else responses_complete
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{fake_model.url}/v1") as client:
            yield llm_judge(adapter(client, "m"))


async def test_a_verdict_comes_over_each_api(fake_model: FakeModel, llm: Llm) -> None:
    fake_model.write = lambda prompt: verdict(
        "ask", probabilities={"ask": 0.9, "note": 0.1}, predicates={"asked": 0.2}
    )
    given = image(png())
    judgment = await llm(asked(guidance="Be quiet.", predicates=PREDICATES, images=(given,)))
    assert judgment.route == "ask"
    assert judgment.probabilities == {"ask": 0.9, "note": 0.1}
    assert judgment.predicates == {"asked": 0.2}
    assert (judgment.judge, judgment.confidence) == ("llm", None)
    (request,) = fake_model.requests
    assert KEY in (request.headers.get("authorization", "") + request.headers.get("x-api-key", ""))
    body = json.dumps(request.json)
    assert given.data in body
    assert json.dumps(DEFAULT_SYSTEM)[1:-1] in body
    prompt = prompt_of(request.json)
    state = json.loads(prompt.partition("<state>")[2].partition("</state>")[0])
    assert state["guidance"] == "Be quiet."
    assert PREDICATES["asked"] in prompt.partition("<state>")[0]


@pytest.mark.parametrize(
    ("says", "route"),
    [
        ('```json\n{"route":"note"}\n```', "note"),
        ('I would say:\n{"route":"note"}', "note"),
        ('{"route":"note","why":"```{\\"route\\":\\"interrupt\\"}```"}', "note"),
        ('{"route":"Interrupt"}', None),
        ('{"route":"page"}', None),
        ('{"route":"wait"}', None),
        ('{"route":["note"]}', None),
        ("I cannot say.", None),
        ("", None),
        ('{"route":"note","probabilities":{"note":2}}', None),
        ('{"route":"note","probabilities":{"note":"high"}}', None),
        ('{"route":"note","probabilities":[1]}', "note"),
        ('{"route":"note","probabilities":{"page":1},"predicates":{"other":2}}', "note"),
    ],
)
async def test_what_is_written_is_a_verdict_or_a_failure_to_try_again(
    fake_model: FakeModel, llm: Llm, says: str, route: str | None
) -> None:
    fake_model.write = lambda prompt: says
    routes = tuple(each for each in Route if each is not Route.WAIT)
    if route is None:
        with pytest.raises(JudgeError) as caught:
            await llm(asked(routes=routes))
        assert type(caught.value) is JudgeError
    else:
        assert (await llm(asked(routes=routes))).route == route
    assert len(fake_model.requests) == 1


async def test_a_refusal_is_permanent_over_each_api(fake_model: FakeModel, llm: Llm) -> None:
    fake_model.rule = lambda exchange: {
        "/v1/messages": message("", "refusal"),
        "/v1/responses": response(None, refusal="no"),
    }.get(exchange.path, chat(None, refusal="no"))
    with pytest.raises(JudgeRefusedError, match="refused"):
        await llm(asked())
    assert len(fake_model.requests) == 1


async def test_a_reply_cut_off_is_tried_again_and_never_read(fake_model: FakeModel, llm: Llm) -> None:
    whole = verdict("interrupt")
    fake_model.rule = lambda exchange: {
        "/v1/messages": message(whole, "max_tokens"),
        "/v1/responses": response(whole, status="incomplete", reason="max_output_tokens"),
    }.get(exchange.path, chat(whole, "length"))
    with pytest.raises(JudgeError, match="cut off") as caught:
        await llm(asked())
    assert type(caught.value) is JudgeError


@pytest.mark.parametrize(
    ("answer", "kind", "wait_ms"),
    [
        (refused(429, "requests", "rate_limit_exceeded", retry_after="1"), JudgeError, 1000),
        (refused(429, "insufficient_quota", "insufficient_quota"), JudgeRejectedError, None),
        (refused(401, "invalid_request_error", "invalid_api_key"), JudgeRejectedError, None),
        (refused(503, "server_error", "server_is_overloaded"), JudgeError, None),
        (
            Answer(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            JudgeError,
            None,
        ),
        (Answer(529, None, {"retry-after-ms": "70000"}), JudgeError, 70_000),
        (Answer(200, None, broken=True), JudgeError, None),
        (Answer(200, b'{"id":', broken=True), JudgeError, None),
    ],
)
async def test_errors_are_the_same_over_each_api_and_no_sdk_tries_again(
    fake_model: FakeModel, llm: Llm, answer: Answer, kind: type[JudgeError], wait_ms: int | None
) -> None:
    fake_model.answers(answer)
    with pytest.raises(JudgeError) as caught:
        await llm(asked(window(event(text="hunter2canary"))))
    assert type(caught.value) is kind
    assert caught.value.retry_after_ms == wait_ms
    assert "hunter2canary" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(fake_model.requests) == 1


async def test_a_prompt_too_long_is_halved_once_over_each_api(fake_model: FakeModel, llm: Llm) -> None:
    of = crowd(60, acts=3)
    fake_model.answers(
        refused(
            400, "invalid_request_error", "context_length_exceeded", message="maximum context length is 512"
        )
    )
    assert (await llm(asked(of))).route == "note"
    first, second = (prompt_of(request.json) for request in fake_model.requests)
    assert len(second) < len(first) * 0.7
    assert all(each.text is not None and each.text in second for each in of.events if each.kind.is_act)
    fake_model.rule = lambda exchange: Answer(
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
    )
    with pytest.raises(ContextLengthError):
        await llm(asked(of))
    assert len(fake_model.requests) == 4


async def test_anthropics_full_window_is_halved_too(fake_model: FakeModel) -> None:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=fake_model.url) as claude:
        fake_model.answers(message("", "model_context_window_exceeded"))
        assert (await llm_judge(anthropic_complete(claude, "m"))(asked(crowd(60)))).route == "note"
        assert fake_model.requests[0].json["output_config"]["effort"] == "low"
        await llm_judge(anthropic_complete(claude, "m", effort=None))(asked())
        assert "effort" not in fake_model.requests[2].json["output_config"]
    assert len(fake_model.requests) == 3


async def test_a_filter_counts_as_a_refusal(fake_model: FakeModel) -> None:
    judge = llm_judge(chat_endpoint(f"{fake_model.url}/v1/chat/completions", "m"))
    fake_model.answers(
        chat("", "content_filter"), Answer(200, {"choices": []}), Answer(200, {"choices": [1]})
    )
    with pytest.raises(JudgeRefusedError):
        await judge(asked())
    for _ in range(2):
        with pytest.raises(JudgeError, match="no text"):
            await judge(asked())
    await judge.aclose()
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{fake_model.url}/v1") as client:
        fake_model.answers(
            response("", status="incomplete", reason="content_filter"), response("", status="failed")
        )
        judge = llm_judge(responses_complete(client, "m"))
        with pytest.raises(JudgeRefusedError):
            await judge(asked())
        with pytest.raises(JudgeError, match="the model failed"):
            await judge(asked())


async def test_a_server_without_schemas_is_asked_without(fake_model: FakeModel) -> None:
    judge = llm_judge(chat_endpoint(f"{fake_model.url}/v1/chat/completions", "m", json_schema=False))
    assert (await judge(asked())).route == "note"
    await judge.aclose()
    assert "response_format" not in fake_model.requests[0].json
    assert isinstance(fake_model.requests[0].json["messages"][1]["content"], str)


def test_the_schema_is_one_that_all_providers_take() -> None:
    schema = verdict_schema((Route.NOTE, Route.ASK), ("asked",))
    assert models.unportable(schema) is None
    assert schema["properties"]["route"]["enum"] == ["note", "ask"]
    assert schema["required"] == ["route", "probabilities", "predicates"]


class Scripted:
    """A `complete` that answers in turn, and keeps what it was called with."""

    def __init__(self, *answers: Mapping[str, Any] | str | Exception) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, str, Sequence[JudgeImage]]] = []

    async def __call__(
        self, *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> Mapping[str, Any] | str:
        self.calls.append((system, prompt, images))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def judge_of(complete: Complete, **options: Any) -> Llm:
    return llm_judge(complete, **options)


async def test_a_complete_of_ones_own_may_return_a_mapping_and_has_its_own_words() -> None:
    complete = Scripted({"route": "note"})
    judge = judge_of(complete, system="Be brief.", criteria={"note": "Whenever."}, name="mine")
    judgment = await judge(asked())
    assert (judgment.route, judgment.judge) == ("note", "mine")
    assert complete.calls[0][0] == "Be brief."
    assert "- note: Whenever." in complete.calls[0][1]


async def test_what_a_complete_raises_comes_out_and_pictures_are_dropped_when_it_says_so() -> None:
    with pytest.raises(ZeroDivisionError):
        await judge_of(Scripted(ZeroDivisionError()))(asked())
    too_long = ContextLengthError("llm: too long")
    complete = Scripted(too_long, {"route": "note"})
    await judge_of(complete)(asked(crowd(20)))
    assert len(complete.calls[1][1]) < len(complete.calls[0][1])
    complete = Scripted(StatusError(400, {"error": {"code": "invalid_image_format"}}), {"route": "note"})
    await judge_of(complete)(asked(images=(image(png()),)))
    assert [len(images) for _, _, images in complete.calls] == [1, 0]


async def test_a_context_that_was_declared_is_kept_to() -> None:
    complete = Scripted({"route": "note"})
    judge = judge_of(complete, context_tokens=4000)
    await judge(asked(crowd(200)))
    assert judge.context_tokens == 4000
    system, prompt, _ = complete.calls[0]
    assert len(system) + len(prompt) <= 3000 * 3
    assert "the last act" in prompt


def test_a_judge_without_words_or_model_is_refused() -> None:
    with pytest.raises(ConfigError):
        judge_of(Scripted(), system=" ")
    with pytest.raises(ConfigError):
        chat_endpoint("https://example.com/v1/chat/completions", " ", api_key="k")
    with pytest.raises(ConfigError):
        chat_endpoint("https://example.com/v1/chat/completions", "m")


class StatusError(Exception):
    """As an SDK raises it."""

    def __init__(self, status_code: int, body: Any) -> None:
        self.status_code = status_code
        self.body = body
        super().__init__("what the provider wrote")
