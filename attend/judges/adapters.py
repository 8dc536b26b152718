"""`complete` functions for clients that you have already: they only go by the methods those clients have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attend.errors import ContextLengthError, JudgeError, JudgeRefusedError
from attend.judges.base import JudgeImage
from attend.judges.chat import chat_request, chat_text
from attend.judges.llm import Complete
from attend.judges.shape import is_array, is_object


def anthropic_complete(
    client: Any, model: str, *, max_tokens: int = 1024, effort: str | None = "low"
) -> Complete:
    """A `complete` on an `anthropic.AsyncAnthropic`, or whatever has its `messages.create`.

    `effort` None leaves it to the model.
    """
    messages = _once(client).messages

    async def complete(
        *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> str:
        blocks = [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": image.mime_type, "data": image.data},
            }
            for image in images
        ]
        output: dict[str, Any] = {"format": {"type": "json_schema", "schema": schema}}
        reply: Any = await messages.create(
            model=model,
            max_tokens=max_tokens,
            system=system,
            messages=[{"role": "user", "content": [*blocks, {"type": "text", "text": prompt}]}],
            output_config=output if effort is None else {"effort": effort, **output},
        )
        reason = _get(reply, "stop_reason")
        if reason == "refusal":
            raise JudgeRefusedError("llm: the model refused to answer", status=200)
        if reason == "model_context_window_exceeded":
            raise ContextLengthError("llm: the window is too long for the model", status=200)
        if reason == "max_tokens":
            raise JudgeError("llm: its reply was cut off", status=200)
        texts = [_get(block, "text") for block in _items(reply, "content") if _get(block, "type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))

    return complete


def responses_complete(client: Any, model: str) -> Complete:
    """A `complete` on an `openai.AsyncOpenAI`'s Responses API, or whatever has its `responses.create`."""
    responses = _once(client).responses

    async def complete(
        *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> str:
        parts = [
            {"type": "input_image", "image_url": f"data:{image.mime_type};base64,{image.data}"}
            for image in images
        ]
        reply: Any = await responses.create(
            model=model,
            instructions=system,
            input=[{"role": "user", "content": [*parts, {"type": "input_text", "text": prompt}]}],
            text={"format": {"type": "json_schema", "name": "judgment", "schema": schema, "strict": True}},
        )
        parts = [part for item in _items(reply, "output") for part in _items(item, "content")]
        if any(_get(part, "type") == "refusal" for part in parts):
            raise JudgeRefusedError("llm: the model refused to answer", status=200)
        status = _get(reply, "status")
        if status == "incomplete":
            reason = _get(_get(reply, "incomplete_details"), "reason")
            if reason == "content_filter":
                raise JudgeRefusedError("llm: a filter withheld the answer", status=200)
            raise JudgeError("llm: its reply was cut off", status=200)
        if status not in (None, "completed"):
            raise JudgeError("llm: the model failed", status=200)
        texts = [_get(part, "text") for part in parts if _get(part, "type") == "output_text"]
        return "".join(text for text in texts if isinstance(text, str))

    return complete


def chat_complete(client: Any, model: str) -> Complete:
    """A `complete` on an OpenAI-compatible client's `chat.completions.create`, whatever its base URL."""
    completions = _once(client).chat.completions

    async def complete(
        *, system: str, prompt: str, images: Sequence[JudgeImage], schema: Mapping[str, Any]
    ) -> str:
        reply: Any = await completions.create(**chat_request(model, system, prompt, images, schema))
        choices = _items(reply, "choices")
        message = _get(choices[0], "message") if choices else None
        return chat_text(
            _get(choices[0], "finish_reason") if choices else None,
            _get(message, "refusal"),
            _get(message, "content"),
        )

    return complete


def _once(client: Any) -> Any:
    """The client without tries of its own: attend owns them."""
    with_options = getattr(client, "with_options", None)
    return client if with_options is None else with_options(max_retries=0)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else getattr(value, name, None)


def _items(value: Any, name: str) -> list[Any]:
    found = _get(value, name)
    return found if is_array(found) else []
