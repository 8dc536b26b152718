"""The OpenAI Decisions API: checks requests by its rules, and answers in question order."""

from __future__ import annotations

from typing import Any

from tests.judges.fakes.server import Answer, Exchange, FakeServer

KEY = "sk-decisions-not-for-logs"


def refused(
    status: int, type: str, code: str | None, *, message: str = "no", param: str | None = None, **headers: str
) -> Answer:
    """An error in OpenAI's envelope."""
    error = {"message": message, "type": type, "param": param, "code": code}
    fields = {"x-request-id": "req_bad"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": error}, fields)


class FakeDecisions(FakeServer):
    """Picks `choice`, refuses the questions named in `refuses`."""

    def __init__(self, *, limit_bytes: int = 200_000) -> None:
        super().__init__(self.answer)
        self.choice = "note"
        self.refuses: set[str] = set()
        self.limit_bytes = limit_bytes

    def answer(self, exchange: Exchange) -> Answer:
        """The answer to a request that has the right form, else the error that the form calls for."""
        if exchange.headers.get("authorization") != f"Bearer {KEY}":
            return refused(
                401, "invalid_request_error", "invalid_api_key", message=f"Incorrect API key: {KEY[:8]}***"
            )
        if exchange.path != "/v1/decisions":
            return refused(404, "invalid_request_error", None)
        body = exchange.json
        if body["model"] != "gpt-6-luna":
            return refused(
                404, "invalid_request_error", "model_not_found", message="no such model", param="model"
            )
        problem = wrong(body)
        if problem is not None:
            return refused(400, "invalid_request_error", None, message="bad request", param=problem)
        texts = sum(len(part.get("text", "")) for item in body["input"] for part in item["content"])
        if texts > self.limit_bytes:
            return refused(
                400, "invalid_request_error", "context_length_exceeded", message="too long", param="input"
            )
        usage = {
            "input_tokens": 190,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 190,
        }
        answers = [self._one(question) for question in body["questions"]]
        return Answer(
            200, {"model": body["model"], "answers": answers, "usage": usage}, {"x-request-id": "req_2"}
        )

    def _one(self, question: dict[str, Any]) -> dict[str, Any]:
        name = question["name"]
        if name in self.refuses:
            return {"type": "refusal", "name": name}
        if question["type"] == "predicate":
            return {"type": "predicate", "name": name, "probability": 0.07}
        values = [choice["value"] for choice in question["choices"]]
        rest = 0.21 / (len(values) - 1)
        shares = [{"value": value, "probability": 0.79 if value == self.choice else rest} for value in values]
        return {
            "type": "choice",
            "name": name,
            "choice": self.choice,
            "confidence": 0.62,
            "probabilities": shares,
        }


def wrong(body: dict[str, Any]) -> str | None:
    """Which part of a request is not as the API takes it."""
    questions = body["questions"]
    names = [question["name"] for question in questions if "name" in question]
    if not 1 <= len(questions) <= 400 or len(set(names)) < len(names):
        return "questions"
    for question in questions:
        if not question.get("instructions"):
            return "questions.instructions"
        values = [choice["value"] for choice in question.get("choices", [])]
        if question["type"] == "choice" and not (2 <= len(values) <= 255 and len(set(values)) == len(values)):
            return "questions.choices"
    parts = [part for item in body["input"] for part in item["content"]]
    if {part["type"] for part in parts} - {"input_text", "input_image", "input_json"}:
        return "input.content"
    images = [part for part in parts if part["type"] == "input_image"]
    if len(images) > 128 or not all(
        part["image_url"].startswith(("data:image/", "https://")) for part in images
    ):
        return "input.content.image_url"
    return None
