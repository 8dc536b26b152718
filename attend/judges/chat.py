"""Chat Completions, as OpenAI has them and every compatible server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import msgspec

from attend.errors import ConfigError, JudgeError, JudgeRefusedError
from attend.judges.base import JudgeImage
from attend.judges.shape import is_array, is_object
from attend.judges.wire import Wire, bearer


class ChatEndpoint:
    """The `complete` that `chat_endpoint` makes."""

    def __init__(self, wire: Wire, model: str, *, json_schema: bool) -> None:
        self._wire = wire
        self._model = model
        self._json_schema = json_schema

    def __repr__(self) -> str:
        return f"<chat endpoint, {self._model}>"

    async def __call__(
        self, *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> str:
        """The text of the first choice. Raises `JudgeError` and its permanent kinds."""
        request = chat_request(self._model, system, prompt, images, schema if self._json_schema else None)
        reply = await self._wire.post(msgspec.json.encode(request), images=bool(images))
        choices = reply.body.get("choices") if is_object(reply.body) else None
        first = choices[0] if is_array(choices) and choices else None
        choice = first if is_object(first) else {}
        message = choice.get("message")
        message = message if is_object(message) else {}
        return chat_text(
            choice.get("finish_reason"), message.get("refusal"), message.get("content"), reply.request_id
        )

    async def aclose(self) -> None:
        """Closes its connections; a client that was handed in stays open."""
        await self._wire.aclose()


def chat_endpoint(
    url: str,
    model: str,
    *,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    json_schema: bool = True,
    client: httpx.AsyncClient | None = None,
) -> ChatEndpoint:
    """A `complete` for `llm_judge` on an address that answers Chat Completions; `url` is the whole one.

    No key is needed on this machine. `json_schema=False` is for servers that do not take `response_format`.
    Raises `ConfigError`.
    """
    if not model.strip():
        raise ConfigError("llm: give the model to ask")
    wire = Wire("llm", url, bearer("llm", url, api_key, headers, hint="give api_key"), client)
    return ChatEndpoint(wire, model, json_schema=json_schema)


def chat_request(
    model: str, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The body of a request."""
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}
        for image in images
    ]
    # Some servers take only a string where there are no pictures.
    content = [*parts, {"type": "text", "text": prompt}] if parts else prompt
    request: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": content}],
    }
    if schema is not None:
        wanted = {"name": "judgment", "schema": schema, "strict": True}
        request["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return request


def chat_text(finish_reason: Any, refusal: Any, content: Any, request_id: str | None = None) -> str:
    """The text of a choice. Raises `JudgeRefusedError` for a refusal, `JudgeError` for a reply cut off or empty."""
    if refusal:
        raise JudgeRefusedError("llm: the model refused to answer", status=200, request_id=request_id)
    if finish_reason == "content_filter":
        raise JudgeRefusedError("llm: a filter withheld the answer", status=200, request_id=request_id)
    if finish_reason == "length":
        raise JudgeError("llm: its reply was cut off", status=200, request_id=request_id)
    if not isinstance(content, str) or not content:
        raise JudgeError("llm: its reply has no text", status=200, request_id=request_id)
    return content
