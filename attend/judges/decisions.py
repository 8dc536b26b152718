"""The OpenAI Decisions API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from attend.core.types import Judgment, Route
from attend.errors import ConfigError, JudgeRefusedError
from attend.judges import answer
from attend.judges.answer import UnreadableError, unreadable
from attend.judges.asking import ask, fitted
from attend.judges.base import JudgeInput
from attend.judges.budget import Budget
from attend.judges.criteria import ROUTE_QUESTION, criteria_of, described
from attend.judges.image import MAX_IMAGES, OnImageError, pictures
from attend.judges.render import View, view
from attend.judges.shape import is_object
from attend.judges.wire import Reply, Wire, bearer

DECISIONS_URL = "https://api.openai.com/v1/decisions"
_HOSTS = ("api.openai.com", "eu.api.openai.com")


class Decisions:
    """The judge that `decisions_judge` makes: one call answers the route and every predicate."""

    def __init__(
        self,
        wire: Wire,
        model: str,
        budget: Budget,
        criteria: dict[Route, str],
        on_image_error: OnImageError | None,
    ) -> None:
        self._wire = wire
        self._model = model
        self._criteria = criteria
        self._on_image_error = on_image_error
        self.budget = budget
        """What the model reads."""
        self.context_tokens = budget.context_tokens
        """What the model reads, in tokens; None where nobody said."""

    def __repr__(self) -> str:
        return f"<decisions judge, {self._model}>"

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The verdict. Raises `JudgeError`, and its permanent kinds where trying again cannot help."""
        if len(input.routes) == 1 and not input.predicates:
            # The API takes no question with one choice, and there is nothing else to ask.
            return Judgment(input.routes[0].value, judge=f"decisions:{self._model}")
        found = pictures(input.images, self._on_image_error, bounded=False, most=MAX_IMAGES)
        shown = fitted(view(input, found), self.budget, lambda bare: len(self._body(bare)))
        return await ask(shown, self._send)

    async def aclose(self) -> None:
        """Closes its connections; a client that was handed in stays open."""
        await self._wire.aclose()

    async def _send(self, shown: View) -> Judgment:
        reply = await self._wire.post(self._body(shown), images=bool(shown.pictures))
        try:
            return _judgment(reply, shown.input, self._model)
        except UnreadableError as error:
            raise unreadable("decisions", error, reply) from None

    def _body(self, shown: View) -> bytes:
        images = [
            {"type": "input_image", "image_url": f"data:{each.mime_type};base64,{each.data}"}
            for each in shown.pictures
        ]
        content = [*images, {"type": "input_text", "text": shown.state}]
        return msgspec.json.encode(
            {
                "model": self._model,
                "input": [{"role": "user", "content": content}],
                "questions": _questions(shown.input, self._criteria),
            }
        )


def _questions(input: JudgeInput, criteria: Mapping[Route, str]) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = []
    if len(input.routes) > 1:
        choices = [
            {"value": name, "description": words} for name, words in described(input.routes, criteria).items()
        ]
        questions.append(
            {"type": "choice", "name": "route", "instructions": ROUTE_QUESTION, "choices": choices}
        )
    for name, question in input.predicates.items():
        questions.append({"type": "predicate", "name": f"p:{name}", "instructions": question})
    return questions


def _judgment(reply: Reply, input: JudgeInput, model: str) -> Judgment:
    body = answer.table(reply.body, "its reply")
    answers = _by_name(answer.rows(body.get("answers"), "its reply's answers"), input)
    judge = answer.judged_by("decisions", body.get("model"), model)
    predicates: dict[str, float] = {}
    for name in input.predicates:
        given = answers.get(f"p:{name}", {})
        # Refused, missing, or of a type that came later: no answer.
        if given.get("type") != "refusal" and "probability" in given:
            predicates[name] = answer.share(given["probability"], f"its answer to {name}")
    if len(input.routes) == 1:
        return Judgment(input.routes[0].value, predicates=predicates or None, judge=judge)
    chosen = answer.table(answers.get("route"), "its answer about the route")
    if chosen.get("type") == "refusal":
        raise JudgeRefusedError(
            "decisions: the model refused to answer about the route", status=200, request_id=reply.request_id
        )
    route = answer.route(chosen.get("choice"), input.routes)
    shares = chosen.get("probabilities")
    listed = [] if shares is None else answer.rows(shares, "its probabilities")
    pairs = [answer.table(each, "one of its probabilities") for each in listed]
    return Judgment(
        route=route.value,
        probabilities=answer.probabilities(
            ((pair.get("value"), pair.get("probability")) for pair in pairs), input.routes
        ),
        confidence=answer.optional_share(chosen.get("confidence"), "its confidence"),
        predicates=predicates or None,
        judge=judge,
    )


def _by_name(answers: list[Any], input: JudgeInput) -> dict[str, dict[str, Any]]:
    """The answers by their question's name; one without a name answers the question in its place."""
    names = ["route"] if len(input.routes) > 1 else []
    names += [f"p:{name}" for name in input.predicates]
    found: dict[str, dict[str, Any]] = {}
    for index, each in enumerate(answers):
        if not is_object(each):
            continue
        name = each.get("name")
        if name is None and index < len(names):
            name = names[index]
        if isinstance(name, str):
            found.setdefault(name, each)
    return found


def decisions_judge(
    api_key: str | None = None,
    model: str = "",
    *,
    endpoint: str = DECISIONS_URL,
    headers: Mapping[str, str] | None = None,
    criteria: Mapping[Route, str] | Mapping[str, str] | None = None,
    context_tokens: int | None = None,
    reserved_tokens: int = 2048,
    bytes_per_token: int = 3,
    on_image_error: OnImageError | None = None,
    client: httpx.AsyncClient | None = None,
) -> Decisions:
    """A judge on the OpenAI Decisions API, or a server that speaks it at `endpoint`, a whole URL.

    The key is `api_key`, for OpenAI's own addresses else `OPENAI_API_KEY`; `headers` may authorize in another way
    or name an organization, and a server on this machine needs no key. `model` must be given. Without
    `context_tokens` a window has no limit of the judge's own. Up to 128 pictures of any format are sent, the
    others reported to `on_image_error`. A `client` of your own is not closed. Raises `ConfigError`.
    """
    if api_key is None and urlsplit(endpoint).scheme == "https" and urlsplit(endpoint).hostname in _HOSTS:
        api_key = os.environ.get("OPENAI_API_KEY")
    if not model.strip():
        raise ConfigError("decisions: give the model to ask")
    hint = "give api_key, or set OPENAI_API_KEY for OpenAI's own address"
    wire = Wire("decisions", endpoint, bearer("decisions", endpoint, api_key, headers, hint=hint), client)
    budget = Budget(context_tokens, reserved_tokens, bytes_per_token).check()
    return Decisions(wire, model, budget, criteria_of(criteria), on_image_error)
