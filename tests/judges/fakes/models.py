"""Models behind Chat Completions, Anthropic's Messages and OpenAI's Responses, each in its own shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from attend.judges.shape import is_object
from tests.judges.fakes.server import Answer, Exchange, FakeServer

KEY = "sk-model-not-for-logs"
Write = Callable[[str], str]
"""What the model writes to a prompt."""


class FakeModel(FakeServer):
    """Answers all three APIs with what `write` makes of the prompt."""

    def __init__(self, write: Write = lambda prompt: '{"route":"note"}') -> None:
        super().__init__(self.answer)
        self.write: Write = write

    def answer(self, exchange: Exchange) -> Answer:
        """The answer in the shapes of the API that was asked."""
        body = exchange.json
        bad = unportable(schema_of(body))
        if bad is not None:
            error = {"type": "invalid_request_error", "message": f"output_config: {bad} is not supported"}
            return Answer(
                400, {"type": "error", "error": error, "request_id": "req_x"}, {"request-id": "req_x"}
            )
        text = self.write(prompt_of(body))
        if exchange.path == "/v1/messages":
            return message(text)
        if exchange.path == "/v1/responses":
            return response(text)
        if exchange.path == "/v1/chat/completions":
            return chat(text)
        return Answer(404, {"error": {"message": "Not Found"}})


def prompt_of(body: dict[str, Any]) -> str:
    """The user's text in a request to any of the three."""
    content = (body.get("input") or body["messages"])[-1]["content"]
    return content if isinstance(content, str) else next(part["text"] for part in content if "text" in part)


def schema_of(body: dict[str, Any]) -> Any:
    """The schema in a request to any of the three."""
    if "output_config" in body:
        return body["output_config"]["format"]["schema"]
    if "text" in body:
        return body["text"]["format"]["schema"]
    return body.get("response_format", {}).get("json_schema", {}).get("schema", {})


def unportable(schema: Any) -> str | None:
    """A keyword that not every provider takes, or an object that leaves something open."""
    if not is_object(schema):
        return None
    for word in ("minimum", "maximum", "pattern", "format", "minItems"):
        if word in schema:
            return word
    properties: dict[str, Any] = schema.get("properties", {})
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or schema.get("required") != list(properties)
    ):
        return "an open object"
    return next((bad for each in properties.values() if (bad := unportable(each))), None)


def message(text: str, stop_reason: str = "end_turn") -> Answer:
    """An answer of Anthropic's Messages."""
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }  # fmt: skip
    return Answer(200, body, {"request-id": "req_m"})


def chat(content: str | None, finish_reason: str = "stop", refusal: str | None = None) -> Answer:
    """An answer of Chat Completions."""
    said = {"role": "assistant", "content": content, "refusal": refusal}
    body = {
        "id": "c1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": said, "logprobs": None}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }  # fmt: skip
    return Answer(200, body, {"x-request-id": "req_c"})


def response(
    text: str | None, *, status: str = "completed", reason: str | None = None, refusal: str | None = None
) -> Answer:
    """An answer of OpenAI's Responses."""
    part: dict[str, Any] = (
        {"type": "refusal", "refusal": refusal}
        if refusal
        else {"type": "output_text", "text": text, "annotations": []}
    )
    body: dict[str, Any] = {
        "id": "resp_1", "object": "response", "created_at": 0, "model": "m", "status": status,
        "error": None, "incomplete_details": None if reason is None else {"reason": reason},
        "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1, "top_p": 1,
        "tool_choice": "auto", "tools": [],
        "output": [{"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}],
        "usage": {
            "input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip
    return Answer(200, body, {"x-request-id": "req_r"})


def verdict(route: str, **more: Any) -> str:
    """A verdict as a model writes it."""
    return json.dumps({"route": route, **more})
