"""A judge on any model that answers with JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attend.core.types import Judgment, Route
from attend.errors import ConfigError, JudgeError
from attend.judges import answer
from attend.judges.answer import UnreadableError
from attend.judges.asking import ask, fitted
from attend.judges.base import JudgeImage, JudgeInput
from attend.judges.budget import Budget
from attend.judges.criteria import DEFAULT_SYSTEM, criteria_of, described
from attend.judges.fault import fault_of
from attend.judges.image import OnImageError, pictures
from attend.judges.render import View, quoted, view
from attend.judges.reply import verdict_in
from attend.judges.shape import is_object


class Complete(Protocol):
    """One call of a model.

    It returns the verdict as a mapping, or the text that holds it. Errors of the OpenAI and Anthropic SDKs may come
    out as they are. Raise `JudgeRefusedError` for a refusal, `ContextLengthError` where the prompt was too long:
    it is called once more with a shorter one.
    """

    async def __call__(
        self, *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> Mapping[str, Any] | str:
        """`schema` is the JSON schema of the verdict, in the subset that all providers take."""
        ...


class Llm:
    """The judge that `llm_judge` makes."""

    def __init__(
        self,
        complete: Complete,
        name: str,
        system: str,
        budget: Budget,
        criteria: dict[Route, str],
        on_image_error: OnImageError | None,
    ) -> None:
        self._complete = complete
        self._name = name
        self._system = system
        self._criteria = criteria
        self._on_image_error = on_image_error
        self.budget = budget
        """What the model reads."""
        self.context_tokens = budget.context_tokens
        """What the model reads, in tokens; None where nobody said."""

    def __repr__(self) -> str:
        return f"<llm judge, {self._name}>"

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The verdict. What `complete` raises comes out, a provider's errors as `JudgeError` and its kinds."""
        found = pictures(input.images, self._on_image_error, bounded=False)
        shown = fitted(
            view(input, found),
            self.budget,
            lambda bare: len(self._system.encode()) + len(self._prompt(bare).encode()),
        )
        return await ask(shown, self._send)

    async def aclose(self) -> None:
        """Closes what `complete` holds, where it has an `aclose` of its own."""
        close = getattr(self._complete, "aclose", None)
        if close is not None:
            await close()

    async def _send(self, shown: View) -> Judgment:
        prompt = self._prompt(shown)
        images = tuple(JudgeImage(each.data, each.mime_type) for each in shown.pictures)
        schema = verdict_schema(shown.input.routes, tuple(shown.input.predicates))
        try:
            said = await self._complete(system=self._system, prompt=prompt, images=images, schema=schema)
        except JudgeError:
            raise
        except Exception as error:
            known = fault_of(self._name, error, images=bool(images), sent=prompt.encode())
            if known is None:
                raise
            # Not chained: what a provider wrote may repeat the window.
            raise known from None
        try:
            verdict = verdict_in(said) if isinstance(said, str) else dict(said)
            return _judgment(verdict, shown.input, self._name)
        except UnreadableError as error:
            raise JudgeError(f"{self._name}: {error}") from None

    def _prompt(self, shown: View) -> str:
        input = shown.input
        lines = ["The routes on offer, each with when it is right:"]
        lines += [f"- {name}: {words}" for name, words in described(input.routes, self._criteria).items()]
        if input.predicates:
            lines += ["", "Questions to answer beside the route, each with the probability that it is so:"]
            lines += [f"- {quoted(name)}: {quoted(question)}" for name, question in input.predicates.items()]
        # Nothing inside can close the tag: angle brackets are escaped there.
        lines += ["", "<state>", shown.state, "</state>", ""]
        wanted = "`route`, and `probabilities` with how likely each route is to be right, from 0 to 1"
        more = ", and `predicates` with a number from 0 to 1 for each question" if input.predicates else ""
        lines.append(f"Answer with one JSON object: {wanted}{more}.")
        return "\n".join(lines)


def verdict_schema(routes: Sequence[Route], predicates: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of a verdict: plain types, every key required and no other allowed, no bounds."""
    properties: dict[str, Any] = {
        "route": {"type": "string", "enum": [route.value for route in routes]},
        "probabilities": _numbers([route.value for route in routes]),
    }
    if predicates:
        properties["predicates"] = _numbers(predicates)
    return _object(properties)


def _numbers(names: Sequence[str]) -> dict[str, Any]:
    return _object({name: {"type": "number"} for name in names})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _judgment(verdict: dict[str, Any], input: JudgeInput, name: str) -> Judgment:
    route = answer.route(verdict.get("route"), input.routes)
    shares, answers = verdict.get("probabilities"), verdict.get("predicates")
    given = answers if is_object(answers) else {}
    predicates = {
        key: answer.share(given[key], f"its answer to {key}")
        for key in input.predicates
        if given.get(key) is not None
    }
    return Judgment(
        route=route.value,
        probabilities=answer.probabilities(shares.items() if is_object(shares) else (), input.routes),
        predicates=predicates or None,
        judge=name,
    )


def llm_judge(
    complete: Complete,
    *,
    name: str = "llm",
    system: str = DEFAULT_SYSTEM,
    criteria: Mapping[Route, str] | Mapping[str, str] | None = None,
    context_tokens: int | None = None,
    reserved_tokens: int = 2048,
    bytes_per_token: int = 3,
    on_image_error: OnImageError | None = None,
) -> Llm:
    """A judge on a model that you call yourself, in `complete`.

    `attend.judges.adapters` has it for the Anthropic and OpenAI clients, `attend.judges.chat` for any
    OpenAI-compatible address. `name` is who the decision says judged. `context_tokens` is what the model reads;
    without it a window has no limit of the judge's own. Raises `ConfigError`.
    """
    if not system.strip():
        raise ConfigError("llm: its system prompt is empty")
    budget = Budget(context_tokens, reserved_tokens, bytes_per_token).check()
    return Llm(complete, name, system, budget, criteria_of(criteria), on_image_error)
