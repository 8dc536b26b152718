"""What a judge's server means by an error: try again, or not, or ask for less.

Only statuses and codes are passed on in a message, with words of our own. What a server writes may repeat what it was
sent, and with it an event's text or a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from attend.errors import (
    ContextLengthError,
    ImagesRejectedError,
    JudgeError,
    JudgeRejectedError,
)
from attend.judges.shape import is_array, is_object
from attend.retry_after import retry_after_ms

_CONTEXT_CODES = frozenset(
    {
        "max_tokens_exceeded",
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "exceed_context_size_error",
    }
)
_CONTEXT_WORDS = re.compile(
    r"maximum context length|context[ _](length|window|size)|(prompt|input) is too long|max_tokens_exceeded",
    re.IGNORECASE,
)
_IMAGE_WORDS = re.compile(r"image|asset|picture", re.IGNORECASE)
_BILLING_CODES = re.compile(r"quota|billing|credit|spend|payment|usage_limit", re.IGNORECASE)
_MODEL_WORDS = re.compile(
    r"(unknown|no such|invalid) model|model_not_found|model\b.{0,80}\b(not found|not exist)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_REQUEST_ID_HEADERS = ("x-typesafe-request-id", "x-request-id", "request-id")
_PLAIN_CODES = frozenset({"error", "missing"})

_WORDS = {
    401: "the key was not accepted",
    402: "there is no credit for it",
    403: "the key is missing, or may not do this",
    404: "there is no such address or model",
    408: "it ran out of time",
    413: "the request is too large",
    422: "the request does not have the form it takes",
    429: "it is asked too often",
    501: "it cannot do this",
    503: "it is overloaded",
    529: "it is overloaded",
}


class Said(Struct, frozen=True):
    """What an error's body says, whichever envelope it came in: codes, most telling first, and words."""

    codes: tuple[str, ...] = ()
    words: str = ""


def said(body: Any) -> Said:
    """Reads `{detail: {...}}`, `{detail: [...]}`, `{error: {...}}`, a bare object, and what nests an error's type."""
    parts = list(_parts(body))
    codes = [
        part[key]
        for key in ("error_type", "code", "type")
        for part in parts
        if isinstance(part.get(key), str)
    ]
    words = [
        part[key]
        for part in parts
        for key in ("message", "msg", "error", "detail")
        if isinstance(part.get(key), str)
    ]
    places = [part.get("param") for part in parts]
    for part in parts:
        loc = part.get("loc")
        # Deeper parts of a place are names inside our own data.
        places.extend(loc[:2] if is_array(loc) else ())
    texts = [*words, *(place for place in places if isinstance(place, str))]
    return Said(tuple(code for code in codes if code not in _PLAIN_CODES), "\n".join(texts)[:10_000])


def fault(
    who: str, status: int, headers: Mapping[str, str], body: Any, *, images: bool = False, sent: bytes = b""
) -> JudgeError:
    """The error that a response stands for.

    `body` is its decoded JSON, or None; `images` says whether the request carried pictures, `sent` is what was
    sent: a code that repeats a part of it is not passed on.
    """
    told = said(body)
    billing = status == 402 or any(_BILLING_CODES.search(code) for code in told.codes)
    kind: type[JudgeError] = JudgeRejectedError
    words = _WORDS.get(status, "it failed" if status >= 500 else "it turned the request down")
    if status in (408, 429) or (status >= 500 and status != 501):
        kind = JudgeRejectedError if billing else JudgeError
        words = "its quota or budget is used up" if billing else words
    elif status in (400, 413, 415, 422):
        kind, words = _turned_down(status, told, images, words)
    elif 300 <= status < 400:
        words = "it sends the request elsewhere, which is not followed"
    if kind is JudgeRejectedError and status in (400, 404) and _MODEL_WORDS.search(_all(told)):
        words = "it does not know the model"
    code = next((code for code in told.codes if _CODE.fullmatch(code) and code.encode() not in sent), None)
    wait = retry_after_ms(headers)
    if kind is JudgeError and wait:
        words += f", and asks for {wait} ms"
    return kind(
        f"{who}: {status}{f' {code}' if code else ''}: {words}",
        status=status,
        request_id=request_id(headers, sent),
        retry_after_ms=wait,
    )


def fault_of(who: str, error: Exception, *, images: bool = False, sent: bytes = b"") -> JudgeError | None:
    """The error that a provider's SDK raised, as ours; None where it is none of a provider's.

    It goes by what SDKs have in common: a `status_code`, with a `response` and a `body`, or a name that says the
    connection failed or was too slow.
    """
    status: object = getattr(error, "status_code", None)
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"JSONDecodeError", "APIResponseValidationError"}:
        return JudgeError(f"{who}: its reply cannot be read", status=200)
    if type(status) is int:
        headers: Any = getattr(getattr(error, "response", None), "headers", None)
        body: Any = getattr(error, "body", None)
        return fault(who, status, {} if headers is None else headers, body, images=images, sent=sent)
    if names & {"APIConnectionError", "APITimeoutError", "TransportError"}:
        return JudgeError(f"{who}: no answer ({type(error).__name__})")
    return None


def request_id(headers: Mapping[str, str], sent: bytes = b"") -> str | None:
    """What the other side calls the request, where it says so in a form that can be shown."""
    for name in _REQUEST_ID_HEADERS:
        value = headers.get(name)
        if value and _REQUEST_ID.fullmatch(value) and value.encode() not in sent:
            return value
    return None


def decoded(body: bytes) -> Any:
    """The JSON in a body; None where there is none that can be read."""
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None


def _turned_down(status: int, told: Said, images: bool, words: str) -> tuple[type[JudgeError], str]:
    if any(code in _CONTEXT_CODES for code in told.codes) or _CONTEXT_WORDS.search(told.words):
        return ContextLengthError, "the window is too long for the model"
    if images and _IMAGE_WORDS.search(_all(told)):
        return ImagesRejectedError, "it does not take the pictures"
    if status == 413:
        return ContextLengthError, words
    return JudgeRejectedError, words


def _all(told: Said) -> str:
    return "\n".join((*told.codes, told.words))


def _parts(body: Any) -> Iterator[dict[str, Any]]:
    """The innermost objects of an error first."""
    if not is_object(body):
        return
    for key in ("error", "detail"):
        inner = body.get(key)
        if is_object(inner):
            metadata = inner.get("metadata")
            if is_object(metadata):
                yield metadata
            yield inner
        elif is_array(inner):
            yield from (each for each in inner[:100] if is_object(each))
    yield body
