"""Hosted judges under attend itself: how often they are called, when again, and what becomes of the window."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anthropic
import openai
import pytest

from attend.app import Attend
from attend.core.types import DeadLetter, Decision, Stage
from attend.judges.adapters import anthropic_complete, chat_complete
from attend.judges.base import Judge
from attend.judges.chat import chat_endpoint
from attend.judges.jev import Jev
from attend.judges.llm import llm_judge
from tests.judges.fakes import jev
from tests.judges.fakes.decisions import refused
from tests.judges.fakes.jev import FakeJev
from tests.judges.fakes.models import KEY, FakeModel, chat, message, prompt_of
from tests.judges.fakes.server import Answer

pytestmark = pytest.mark.anyio


class Heard:
    """What an attend handed out."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.letters: list[DeadLetter] = []

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait until it holds; the machine may be slow."""
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, (self.decisions, self.letters)
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(judge: Judge, **options: Any) -> AsyncGenerator[tuple[Attend, Heard]]:
    """An attend in memory with this judge, whose `user.said` flushes and `build.*` closes."""
    heard = Heard()
    settle = {"closing_grace_ms": 1, "retry_backoff_ms": (5, 5, 5), **options}
    app = Attend(
        kind={"user.said": "flush", "build.*": "closing"},
        judge=judge,
        sink=heard.decisions.append,
        dead_letter=heard.letters.append,
        settle=settle,
    )
    async with app:
        task = asyncio.create_task(app.run())
        try:
            yield app, heard
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def said(text: str = "can you look?") -> dict[str, Any]:
    return {"name": "user.said", "text": text}


async def test_trouble_that_passes_uses_up_the_ladder_and_then_the_window_is_a_dead_letter(
    fake_jev: FakeJev, jev_of: Jev
) -> None:
    fake_jev.answers(*[jev.refused(529, "overloaded_error")] * 3)
    async with running(jev_of) as (app, heard):
        await app.push("s", [said()])
        await heard.until(lambda: heard.decisions)
        assert (heard.decisions[0].route, heard.decisions[0].starts) == ("queue", 4)
        assert heard.decisions[0].confidence == 0.41
        assert heard.decisions[0].judge == "jev:jev-1.14.0"
        fake_jev.answers(*[Answer(503)] * 4)
        await app.push("s", [said("again")])
        await heard.until(lambda: heard.letters)
    assert len(fake_jev.requests) == 8
    (letter,) = heard.letters
    assert (letter.stage, letter.starts, letter.message) == (Stage.JUDGE, 4, "jev: 503: it is overloaded")


async def test_the_next_try_is_never_earlier_than_the_server_asks(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(jev.refused(429, "rate_limit_error", retry_after_ms="700"))
    async with running(jev_of) as (app, heard):
        await app.push("s", [said()])
        await heard.until(lambda: fake_jev.requests)
        first = time.monotonic()
        await heard.until(lambda: len(fake_jev.requests) == 2)
        assert time.monotonic() - first > 0.6
        await heard.until(lambda: heard.decisions)


@pytest.mark.parametrize(
    "answer",
    [
        jev.refused(401, "authentication_error", jev.UNAUTHENTICATED),
        jev.refused(400, "api_usage_error", "Unknown model: x"),
        jev.refused(429, "billing_error", retry_after="1"),
        Answer(402),
        Answer(501),
    ],
)
async def test_what_cannot_be_helped_is_a_dead_letter_at_once(
    fake_jev: FakeJev, jev_of: Jev, answer: Answer
) -> None:
    fake_jev.answers(answer)
    async with running(jev_of) as (app, heard):
        await app.push("s", [said()])
        await heard.until(lambda: heard.letters)
        assert len(fake_jev.requests) == 1
        assert str(answer.status) in heard.letters[0].message
        await app.push("s", [said("again")])
        await heard.until(lambda: heard.decisions)
    assert len(heard.letters) == 1


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_refusal_is_one_call_and_the_next_window_is_judged(fake_model: FakeModel, api: str) -> None:
    fake_model.answers(message("", "refusal") if api == "anthropic" else chat(None, refusal="I will not."))
    async with (
        anthropic.AsyncAnthropic(api_key=KEY, base_url=fake_model.url) as claude,
        openai.AsyncOpenAI(api_key=KEY, base_url=f"{fake_model.url}/v1") as client,
    ):
        complete = anthropic_complete(claude, "m") if api == "anthropic" else chat_complete(client, "m")
        async with running(llm_judge(complete)) as (app, heard):
            await app.push("s", [said()])
            await heard.until(lambda: heard.letters)
            assert len(fake_model.requests) == 1
            assert (heard.letters[0].stage, heard.letters[0].starts) == (Stage.JUDGE, 1)
            assert "refused" in heard.letters[0].message
            await app.push("s", [said("again")])
            await heard.until(lambda: heard.decisions)
    assert len(fake_model.requests) == 2
    assert len(heard.letters) == 1


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('```json\n{"route":"note"}\n```', 1),
        ('Sure, here it is: {"route":"note"}', 1),
        ('{"route":"note","why":"the text has ```ticks``` in it"}', 1),
        ('{"route":"Interrupt"}', 4),
        ('{"route":"page"}', 4),
        ('{"route":"wait"}', 4),
    ],
)
async def test_fences_cost_nothing_and_no_route_is_guessed(
    fake_model: FakeModel, text: str, calls: int
) -> None:
    fake_model.write = lambda prompt: text
    judge = llm_judge(chat_endpoint(f"{fake_model.url}/v1/chat/completions", "m"))
    async with running(judge) as (app, heard):
        await app.push("s", [said("exactly ```this``` {text}")])
        await heard.until(lambda: heard.decisions or heard.letters)
    await judge.aclose()
    assert len(fake_model.requests) == calls
    if calls == 1:
        assert heard.decisions[0].route == "note"
        assert heard.decisions[0].notice.startswith("exactly ```this``` {text}\n")
    else:
        assert heard.decisions == []
        assert heard.letters[0].starts == 4


@pytest.mark.parametrize("limit", [4096, 12_000])
async def test_a_prompt_too_long_never_grows_and_never_silences_the_scope(
    fake_model: FakeModel, limit: int
) -> None:
    def answer(exchange: Any) -> Answer:
        if len(prompt_of(exchange.json)) > limit:
            return refused(
                400, "invalid_request_error", "context_length_exceeded", message="too long", param="messages"
            )
        return chat('{"route":"note"}')

    fake_model.rule = answer
    judge = llm_judge(chat_endpoint(f"{fake_model.url}/v1/chat/completions", "m"))
    lines = [{"name": "log.line", "text": f"line {at}"} for at in range(200)]
    async with running(judge) as (app, heard):
        await app.push("s", [*lines, said("what is this?")])
        await heard.until(lambda: heard.decisions or heard.letters)
        assert len(fake_model.requests) == 2
        second = prompt_of(fake_model.requests[1].json)
        assert "what is this?" in second
        assert len(second) < len(prompt_of(fake_model.requests[0].json))
        assert len(heard.letters) == (1 if limit == 4096 else 0)
        # Whatever became of it, its window is gone and the next is judged by itself.
        await app.push("s", [said("again")])
        await heard.until(lambda: heard.decisions and heard.decisions[-1].window.events[-1].text == "again")
        assert len(heard.decisions[-1].window.events) == 1
    await judge.aclose()
    assert len(fake_model.requests) == 3


async def test_a_judges_context_bounds_the_open_window(jev_of: Jev) -> None:
    async with running(jev_of) as (app, _):
        assert app.rules.max_window_bytes == (32_000 - 2048) // 2 * 3
