"""MCP over HTTP as far as decisions need it: one request, and its answer as JSON or as a stream of messages."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import httpx
import msgspec
from msgspec import Struct

from attend.client.answer import LATER, problem_of, refused, retry_after, trouble_of
from attend.errors import AnswerError
from attend.version import __version__

EVENT = "attention.decision"
VERSION = "2026-07-28"
UNREADABLE = "unreadable"
SILENCE = 120.0
"""How many seconds a stream may be silent before it is taken for dead. A server's heartbeat is 15 s."""

_META = "io.modelcontextprotocol/"
SUBSCRIPTION = f"{_META}subscriptionId"
_NO_METHOD = -32601
_UNSUPPORTED = frozenset({-32026, -32014})


class TroubleError(Exception):
    """Raised where the same request may succeed later; `wait` is in seconds, where the server said."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        self.wait = wait
        super().__init__(why)


class NotOfferedError(Exception):
    """Raised where the server does not have the method."""


class Fault(Struct):
    """An error as JSON-RPC has it."""

    code: int
    message: str
    data: Any = None


class Message(Struct):
    """What a server sends: a notification by its method, or the end of the request as a result or an error."""

    method: str = ""
    params: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: Fault | None = None

    @property
    def kind(self) -> str:
        """The last word of a notification's method; `result` for a result."""
        return self.method.rpartition("/")[2] or "result"

    @property
    def subscription(self) -> int | str | None:
        """The id of the request that a notification belongs to, where it says."""
        meta: Any = self.params.get("_meta")
        found: Any = cast("dict[str, Any]", meta).get(SUBSCRIPTION) if isinstance(meta, dict) else None
        return found if isinstance(found, (int, str)) else None


_decoder = msgspec.json.Decoder(Message)
_ids = itertools.count(1)


def next_id() -> int:
    """An id for a request, that no other of this process has."""
    return next(_ids)


def enveloped(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with what every request says of its sender."""
    meta: dict[str, Any] = {
        f"{_META}protocolVersion": VERSION,
        f"{_META}clientInfo": {"name": "attend", "version": __version__},
        f"{_META}clientCapabilities": {"extensions": {f"{_META}events": {}}},
    }
    return {**params, "_meta": meta}


@asynccontextmanager
async def request(
    http: httpx.AsyncClient,
    where: str,
    method: str,
    params: Mapping[str, Any],
    *,
    url: str = "/mcp",
    id: int | None = None,
    named: str | None = None,
    silence: float = SILENCE,
    lenient: bool = False,
) -> AsyncGenerator[AsyncGenerator[Message]]:
    """The messages that answer a request, as they come; the last one is its result, where it has one.

    `named` is the tool or resource that the request is about. `silence` is how many seconds the answer may be silent
    before it is taken for dead. Where it is `lenient`, what cannot be read in a stream is a message too, of the method
    `UNREADABLE`. Raises `TroubleError`, `NotOfferedError` and `AnswerError`.
    """
    sent = {"jsonrpc": "2.0", "id": next_id() if id is None else id, "method": method}
    timeout = httpx.Timeout(silence, connect=5, pool=None)
    try:
        async with http.stream(
            "POST",
            url,
            json={**sent, "params": enveloped(params)},
            headers={
                "accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": VERSION,
                "Mcp-Method": method,
                **({} if named is None else {"Mcp-Name": named}),
            },
            timeout=timeout,
        ) as answer:
            kind = answer.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                await answer.aread()
                yield _whole(answer)
                return
            async with aclosing(_messages(answer, lenient)) as messages:
                yield messages
    except httpx.TransportError as error:
        raise TroubleError(trouble_of(error, where)) from error


async def _whole(answer: httpx.Response) -> AsyncGenerator[Message]:
    try:
        message = _decoder.decode(answer.content)
    except (msgspec.MsgspecError, RecursionError):
        message = Message()
    if message.error is not None:
        raise failed(message.error, answer.status_code)
    if answer.status_code in LATER:
        problem = problem_of(answer)
        raise TroubleError(
            f"{answer.status_code} {problem.error}: {problem.message}", retry_after(answer, problem)
        )
    if answer.status_code != 200:
        raise refused(answer)
    if message.result is None:
        raise AnswerError(200, "", "it answered what no attend answers")
    yield message


async def _messages(answer: httpx.Response, lenient: bool) -> AsyncGenerator[Message]:
    # Lines end at \n and nowhere else: httpx would split at other separators that stand inside of JSON.
    rest = bytearray()
    data: list[bytes] = []
    async for chunk in answer.aiter_bytes():
        rest += chunk
        if b"\n" not in chunk:
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:])
            elif not line and data:
                text, data = b"\n".join(data).strip(), []
                if text:
                    yield _message(text, answer.status_code, lenient)


def _message(text: bytes, status: int, lenient: bool) -> Message:
    try:
        message = _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        if lenient:
            return Message(UNREADABLE, {"problem": str(error), "text": text[:500].decode(errors="replace")})
        raise TroubleError(f"it sent what cannot be read: {error}") from error
    if message.error is not None:
        raise failed(message.error, status)
    return message


def failed(error: Fault, status: int) -> Exception:
    """What an error is to whoever asked."""
    if error.code == _NO_METHOD or error.code in _UNSUPPORTED:
        return NotOfferedError(error.message)
    data: Any = error.data
    after: Any = cast("dict[str, Any]", data).get("retryAfterMs") if isinstance(data, dict) else None
    if isinstance(after, (int, float)):
        return TroubleError(error.message, after / 1000)
    return AnswerError(status, str(error.code), error.message)
