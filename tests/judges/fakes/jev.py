"""A System One server: checks requests as TypeSafe's does, and answers in its shapes."""

from __future__ import annotations

import base64
import struct
from typing import Any

from attend.judges.shape import is_array, is_object
from tests.judges.fakes.server import Answer, Exchange, FakeServer

KEY = "tk-5f0c-not-for-logs"
MODELS = {"jev-latest", "jev-preview", "jev-1.14.0", "jev-1.13.0"}
UNAUTHENTICATED = "Cannot authenticate with the server. Please check your API key and try again."
NO_KEY = "Must supply an API key! Check your request and try again."


def refused(status: int, error_type: str, message: str | None = None, **headers: str) -> Answer:
    """An error in TypeSafe's envelope."""
    detail = {"error_type": error_type} | ({} if message is None else {"message": message})
    fields = {"x-typesafe-request-id": "req-bad"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return Answer(status, {"detail": detail}, fields)


class FakeJev(FakeServer):
    """Picks `choice` with `probabilities`, and `noul` for every yes-or-no question."""

    def __init__(self, *, key: str | None = KEY, limit_bytes: int = 96_000) -> None:
        super().__init__(self.answer)
        self.key = key
        self.limit_bytes = limit_bytes
        self.choice = "queue"
        self.probabilities = {
            "interrupt": 0.18, "queue": 0.52, "note": 0.15, "ask": 0.05, "skip": 0.03, "wait": 0.07
        }  # fmt: skip
        self.noul = 0.04

    def answer(self, exchange: Exchange) -> Answer:
        """The answer to a request that has the right form, else the error that the form calls for."""
        problem = self._authorized(exchange) or self._problem(exchange)
        if problem is not None:
            return problem
        body = exchange.json
        answers: dict[str, Any] = {}
        for name, question in body["questions"].items():
            if question["type"] == "noul":
                answers[name] = {"type": "noul", "noul": self.noul}
            else:
                labels = question["criteria"]
                shares = {label: self.probabilities.get(label, 0.0) for label in labels}
                answers[name] = {
                    "type": "choice", "choice": self.choice, "confidence": 0.41, "probabilities": shares
                }  # fmt: skip
        model = "jev-1.14.0" if body["model"] == "jev-latest" else body["model"]
        usage = {"input_tokens": 212, "output_tokens": 34}
        return Answer(
            200, {"model": model, "answers": answers, "usage": usage}, {"x-typesafe-request-id": "req-1"}
        )

    def _authorized(self, exchange: Exchange) -> Answer | None:
        if self.key is None:
            return None
        if not exchange.headers.get("authorization", "").removeprefix("Bearer "):
            return refused(403, "authentication_error", NO_KEY)
        if exchange.headers["authorization"] != f"Bearer {self.key}":
            return refused(401, "authentication_error", UNAUTHENTICATED)
        return None

    def _problem(self, exchange: Exchange) -> Answer | None:
        if exchange.path != "/v1/systemone":
            return Answer(404, {"detail": "Not Found"})
        body = exchange.json
        for key in ("model", "state", "questions"):
            if body.get(key) is None:
                missing = {"loc": ["body", key], "msg": "Field required", "type": "missing", "input": body}
                return Answer(422, {"detail": [missing]})
        if body["model"] not in MODELS:
            return refused(400, "api_usage_error", f"Unknown model: {body['model']}")
        questions = body["questions"].values()
        if not questions or any(len(each.get("criteria") or "x") not in range(1, 256) for each in questions):
            return refused(400, "api_usage_error", "Invalid request.")
        if nesting(body["state"]) > 64:
            return refused(400, "api_usage_error", "Invalid request.")
        if "assets" in body and (bad := self._bad_assets(exchange)):
            return bad
        long = exchange.headers.get("typesafe-danger-zone-long-context") == "true"
        size = len(exchange.body) - sum(len(each["data_base64"]) for each in body.get("assets", {}).values())
        return refused(400, "max_tokens_exceeded") if size > self.limit_bytes * (8 if long else 1) else None

    def _bad_assets(self, exchange: Exchange) -> Answer | None:
        body = exchange.json
        invalid = refused(400, "api_usage_error", "Invalid image dimensions")
        if exchange.headers.get("typesafe-danger-zone-images") != "true" or not body["assets"]:
            return invalid
        for reference, asset in body["assets"].items():
            content = base64.b64decode(asset["data_base64"], validate=True)
            if reference not in strings(body["state"]) or asset["type"] != "image":
                return invalid
            if asset["format"] == "png":
                sides = struct.unpack(">II", content[16:24])
            else:
                frame = content.index(b"\xff\xc0")
                sides = struct.unpack(">HH", content[frame + 5 : frame + 9])
            if not all(280 <= side <= 1568 for side in sides):
                return invalid
        return None


def strings(value: Any) -> list[str]:
    """Every string in a JSON value."""
    return [value] if isinstance(value, str) else [text for each in inside(value) for text in strings(each)]


def nesting(value: Any) -> int:
    """How deep a JSON value nests."""
    return 1 + max(map(nesting, inside(value)), default=0) if is_object(value) or is_array(value) else 0


def inside(value: Any) -> list[Any]:
    """What an object or an array holds."""
    return list(value.values()) if is_object(value) else value if is_array(value) else []
