"""The providers' own SDKs read what our fakes say, and send what our fakes take: the fakes speak as they do."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from typesafe_sdk import (
    AsyncTypeSafeClient,
    Choice,
    Noul,
    RetryPolicy,
    TypeSafeAPIError,
    TypeSafeRateLimitError,
)

from attend.judges.criteria import DEFAULT_CRITERIA
from tests.judges.fakes import decisions, jev
from tests.judges.fakes.decisions import FakeDecisions
from tests.judges.fakes.jev import FakeJev

pytestmark = pytest.mark.anyio
CRITERIA = {route.value: words for route, words in DEFAULT_CRITERIA.items()}


def typesafe(fake: FakeJev) -> Any:
    # Without compression: a body that the SDK compressed would need a decoder of its own here.
    return AsyncTypeSafeClient(
        api_key=jev.KEY, base_url=fake.url, compression=False, retry=RetryPolicy(max_retries=0)
    )


async def test_typesafes_sdk_takes_the_system_one_fake_for_the_real_one(fake_jev: FakeJev) -> None:
    questions = {"route": Choice(criteria=CRITERIA), "p:asked": Noul(instructions="Was it asked for?")}
    async with typesafe(fake_jev) as client:
        answer = await client.system_one({"window": {}}, questions, model="jev-latest")
    assert answer.choices["route"].choice == "queue"
    assert answer.choices["route"].probabilities["queue"] == 0.52
    assert answer.nouls["p:asked"].noul == 0.04
    assert (answer.model, answer.request_id) == ("jev-1.14.0", "req-1")
    assert fake_jev.requests[0].json["questions"]["route"]["type"] == "choice"


async def test_typesafes_sdk_reads_the_fakes_errors(fake_jev: FakeJev) -> None:
    fake_jev.answers(
        jev.refused(429, "rate_limit_error", "slow down", retry_after_ms="1500"),
        jev.refused(400, "api_usage_error", "Invalid image dimensions"),
        jev.refused(402, "billing_error", "no"),
    )
    async with typesafe(fake_jev) as client:
        errors: list[Any] = []
        for _ in range(3):
            with pytest.raises(TypeSafeAPIError) as caught:
                await client.system_one("x", {"a": Noul(instructions="b")}, model="jev-latest")
            errors.append(caught.value)
    assert isinstance(errors[0], TypeSafeRateLimitError)
    assert errors[0].retry_after_ms == 1500
    assert [error.status for error in errors] == [429, 400, 402]
    assert len(fake_jev.requests) == 3


async def test_openais_sdk_takes_the_decisions_fake_for_the_real_one(fake_decisions: FakeDecisions) -> None:
    fake_decisions.refuses = {"p:asked"}
    choices: Any = [{"value": name, "description": words} for name, words in CRITERIA.items()]
    questions: Any = [
        {"type": "choice", "name": "route", "instructions": "What now?", "choices": choices},
        {"type": "predicate", "name": "p:asked", "instructions": "It was asked for."},
    ]
    async with openai.AsyncOpenAI(
        api_key=decisions.KEY, base_url=f"{fake_decisions.url}/v1", max_retries=0
    ) as client:
        decision: Any = await client.decisions.create(
            model="gpt-6-luna",
            input=[{"role": "user", "content": [{"type": "input_text", "text": "{}"}]}],
            questions=questions,
        )
        assert decision.answers[0].choice == "note"
        assert decision.answers[0].probabilities[2].probability == 0.79
        assert decision.answers[1].type == "refusal"
        assert decision.usage.total_tokens == 190
        fake_decisions.answers(decisions.refused(429, "insufficient_quota", "insufficient_quota"))
        with pytest.raises(openai.RateLimitError) as caught:
            await client.decisions.create(model="gpt-6-luna", input="x", questions=questions)
    assert (caught.value.code, caught.value.request_id) == ("insufficient_quota", "req_bad")
