"""TypeSafe's Jev, and every other server that speaks its System One protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
import msgspec

from attend.core.types import Judgment, Route
from attend.errors import ConfigError
from attend.judges import answer
from attend.judges.answer import UnreadableError, unreadable
from attend.judges.asking import ask, fitted
from attend.judges.base import JudgeInput
from attend.judges.budget import Budget
from attend.judges.criteria import ROUTE_QUESTION, criteria_of, described
from attend.judges.image import MAX_CALL_BYTES, OnImageError, pictures
from attend.judges.render import View, view
from attend.judges.shape import is_object
from attend.judges.wire import Reply, Wire, bearer

JEV_URL = "https://api.typesafe.ai/v1/systemone"
CONTEXT_TOKENS = 32_000
LONG_CONTEXT_TOKENS = 262_144

ImageStyle = Literal["assets", "image_url", "none"]


class Jev:
    """The judge that `jev_judge` makes: one call answers the route and every predicate."""

    def __init__(
        self,
        wire: Wire,
        model: str,
        budget: Budget,
        criteria: dict[Route, str],
        *,
        long_context: bool,
        image_style: ImageStyle,
        on_image_error: OnImageError | None,
    ) -> None:
        self._wire = wire
        self._model = model
        self._criteria = criteria
        self._long_context = long_context
        self._image_style = image_style
        self._on_image_error = on_image_error
        self.budget = budget
        """What the model reads."""
        self.context_tokens = budget.context_tokens
        """What the model reads, in tokens; None where nobody said."""

    def __repr__(self) -> str:
        return f"<jev judge, {self._model}>"

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The verdict. Raises `JudgeError`, and its permanent kinds where trying again cannot help."""
        images = () if self._image_style == "none" else input.images
        found = pictures(images, self._on_image_error, bounded=True, most_bytes=MAX_CALL_BYTES)
        shown = fitted(view(input, found), self.budget, lambda bare: len(self._body(bare)))
        return await ask(shown, self._send)

    async def aclose(self) -> None:
        """Closes its connections; a client that was handed in stays open."""
        await self._wire.aclose()

    async def _send(self, shown: View) -> Judgment:
        headers: dict[str, str] = {}
        if self._long_context:
            headers["typesafe-danger-zone-long-context"] = "true"
        if shown.pictures:
            headers["typesafe-danger-zone-images"] = "true"
        reply = await self._wire.post(self._body(shown), headers, images=bool(shown.pictures))
        try:
            return _judgment(reply, shown.input, self._model)
        except UnreadableError as error:
            raise unreadable("jev", error, reply) from None

    def _body(self, shown: View) -> bytes:
        body: dict[str, Any] = {"model": self._model, "state": msgspec.Raw(shown.state.encode())}
        if shown.pictures and self._image_style == "assets":
            body["assets"] = {
                each.ref: {"type": "image", "format": each.format, "data_base64": each.data}
                for each in shown.pictures
            }
        elif shown.pictures:
            urls = [f"data:{each.mime_type};base64,{each.data}" for each in shown.pictures]
            parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            body["state"] = [shown.state, *parts]
        body["questions"] = {
            "route": {
                "type": "choice",
                "instructions": ROUTE_QUESTION,
                "criteria": described(shown.input.routes, self._criteria),
            },
            **{
                f"p:{name}": {"type": "noul", "instructions": question}
                for name, question in shown.input.predicates.items()
            },
        }
        return msgspec.json.encode(body)


def _judgment(reply: Reply, input: JudgeInput, model: str) -> Judgment:
    body = answer.table(reply.body, "its reply")
    answers = answer.table(body.get("answers"), "its reply's answers")
    chosen = answer.table(answers.get("route"), "its answer about the route")
    route = answer.route(chosen.get("choice"), input.routes)
    shares = chosen.get("probabilities")
    pairs = () if shares is None else answer.table(shares, "its probabilities").items()
    predicates: dict[str, float] = {}
    for name in input.predicates:
        given = answers.get(f"p:{name}")
        # An answer that is missing, or of a type that came later, is no answer.
        if is_object(given) and "noul" in given:
            predicates[name] = answer.share(given["noul"], f"its answer to {name}")
    return Judgment(
        route=route.value,
        probabilities=answer.probabilities(pairs, input.routes),
        confidence=answer.optional_share(chosen.get("confidence"), "its confidence"),
        predicates=predicates or None,
        judge=answer.judged_by("jev", body.get("model"), model),
    )


def jev_judge(
    api_key: str | None = None,
    *,
    endpoint: str = JEV_URL,
    model: str = "jev-latest",
    headers: Mapping[str, str] | None = None,
    criteria: Mapping[Route, str] | Mapping[str, str] | None = None,
    long_context: bool = False,
    context_tokens: int | None = None,
    reserved_tokens: int = 2048,
    bytes_per_token: int = 3,
    image_style: ImageStyle = "assets",
    on_image_error: OnImageError | None = None,
    client: httpx.AsyncClient | None = None,
) -> Jev:
    """A judge on a System One server: TypeSafe's, or any that speaks the protocol at `endpoint`, a whole URL.

    The key is `api_key`, for TypeSafe's own address else `TYPESAFE_API_KEY`; `headers` may authorize in another
    way, and a server on this machine needs none. `context_tokens` is 32,000, or 262,144 with `long_context`; give
    it for a smaller model. PNG and JPEG pictures within the provider's limits are sent in the way `image_style`
    says, the others reported to `on_image_error`. A `client` of your own is not closed. Raises `ConfigError`.
    """
    host = urlsplit(JEV_URL).hostname
    if api_key is None and endpoint.startswith(f"https://{host}/"):
        api_key = os.environ.get("TYPESAFE_API_KEY")
    if not model.strip():
        raise ConfigError("jev: its model has no name")
    hint = "give api_key, or set TYPESAFE_API_KEY for TypeSafe's own address"
    wire = Wire("jev", endpoint, bearer("jev", endpoint, api_key, headers, hint=hint), client)
    tokens = context_tokens or (LONG_CONTEXT_TOKENS if long_context else CONTEXT_TOKENS)
    return Jev(
        wire,
        model,
        Budget(tokens, reserved_tokens, bytes_per_token).check(),
        criteria_of(criteria),
        long_context=long_context,
        image_style=image_style,
        on_image_error=on_image_error,
    )
