"""The client: one server, by its URL or its unix socket."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from attend.client.answer import LATER, problem_of, refused, trouble_of
from attend.client.body import Body, IngestReply
from attend.client.decisions import Decisions
from attend.client.stream import Stream
from attend.client.wire import NotOfferedError, TroubleError, request
from attend.core.explain import Explanation
from attend.core.report import Report
from attend.errors import AnswerError, UnreachableError

DEFAULT_URL = "http://127.0.0.1:8787"

TIMEOUT = httpx.Timeout(60, connect=5, pool=None)
"""Seconds. A body's answer comes once all of it is committed, which a busy store takes its time for."""

T = TypeVar("T")

Lines = Iterable[bytes | str | Mapping[str, Any]]


class Client:
    """Speaks to the attend at `url`, which is `http://`, `https://`, or `unix:<path>` as `attend serve` prints it.

    `uds` is the path of a unix socket, in place of a URL. `patience` is how many seconds a server may be away, or
    too busy, before `UnreachableError`. Raises `ValueError` for a URL that is none. Use it as a context manager,
    or close it.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str | None = None,
        *,
        uds: str | None = None,
        patience: float = 60,
    ) -> None:
        if uds is None and url.startswith("unix:"):
            uds = url.removeprefix("unix:").removeprefix("//")
        if uds is None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{url!r} is no URL of a server; it begins with http://, https:// or unix:")
        self._uds = uds
        self._where = url if uds is None else f"unix:{uds}"
        self._patience = patience
        self._http = httpx.AsyncClient(
            base_url="http://localhost" if uds is not None else url.rstrip("/"),
            headers={} if token is None else {"authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
            transport=None if uds is None else httpx.AsyncHTTPTransport(uds=uds),
            # A proxy of the environment is for the world outside.
            trust_env=uds is None and not _is_here(urlsplit(url).hostname or ""),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    def body(self, lines: Lines, *, on_wait: Callable[[str, float], object] | None = None) -> Body:
        """Lines to be sent by its `send`. `on_wait` is told why it waits before it sends again, and how long."""
        return Body(self._http, lines, where=self._where, patience=self._patience, on_wait=on_wait)

    async def ingest(self, lines: Lines) -> IngestReply:
        """Send lines, each as bytes, text, or a mapping, in one body; again what the server could not take yet.

        A line without an `id` gets one, once, so that sending it again is safe. Lines are numbered from 1. Raises
        `UnreachableError` and `AnswerError`; some of the lines may have been taken then, and sending them again
        with their ids is safe.
        """
        return await self.body(lines).send()

    def stream(
        self,
        *,
        on_wait: Callable[[str, float], object] | None = None,
        on_reply: Callable[[IngestReply, Sequence[int]], object] | None = None,
    ) -> Stream:
        """A stream that lines are sent through as they come: `async with client.stream() as s: await s.send(line)`.

        It connects when there is a line, straight to the server and through no proxy of the environment, and again
        where the connection broke. `on_wait` is told why it waits and how long, `on_reply` what became of lines.
        """
        return Stream(
            self._http,
            self._uds,
            where=self._where,
            patience=self._patience,
            on_wait=on_wait,
            on_reply=on_reply,
        )

    async def scope(self, name: str) -> Report | None:
        """What there is in a scope; None where it is unknown, or not yours to see.

        Raises `UnreachableError` and `AnswerError`.
        """
        return await self._look(f"/v1/scopes/{_segment(name)}", Report)

    async def explain(self, decision_id: str) -> Explanation | None:
        """Why a decision, or a dead letter, is what it is; None where it is not kept, or not yours to see.

        Raises `UnreachableError` and `AnswerError`.
        """
        return await self._look(f"/v1/decisions/{_segment(decision_id)}/explain", Explanation)

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool of the server answered, as `tools/call` has it: `content`, `structuredContent`, `isError`.

        It is asked once. Raises `UnreachableError` where it may answer later, and `AnswerError`.
        """
        params = {"name": name, "arguments": dict(arguments)}
        try:
            async with request(self._http, self._where, "tools/call", params, named=name) as messages:
                found = [message.result async for message in messages if message.result is not None]
        except TroubleError as error:
            raise UnreachableError(str(error)) from error
        except NotOfferedError as error:
            raise AnswerError(200, "", str(error)) from error
        if not found:
            raise UnreachableError("the server ended the answer before its end")
        return found[-1]

    async def _look(self, path: str, kind: type[T]) -> T | None:
        try:
            answer = await self._http.get(path)
        except httpx.TransportError as error:
            raise UnreachableError(trouble_of(error, self._where)) from error
        if answer.status_code == 404 and problem_of(answer).error == "not_found":
            return None
        if answer.status_code in LATER:
            problem = problem_of(answer)
            raise UnreachableError(f"{answer.status_code} {problem.error}: {problem.message}")
        if answer.status_code != 200:
            raise refused(answer)
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.MsgspecError as error:
            raise AnswerError(200, "", f"it answered what no attend answers: {error}") from error

    def decisions(
        self,
        cursor: str | None = None,
        *,
        scope: str | None = None,
        scope_prefix: str | None = None,
        routes: Collection[str] | None = None,
        min_confidence: float | None = None,
        mode: Literal["auto", "stream", "poll"] = "auto",
        wait: bool = False,
        follow: bool = True,
        say: Callable[[str], object] | None = None,
    ) -> Decisions:
        """Decisions as they come, after a cursor: None is from now on, `START` from the oldest that is kept.

        To be read with `async for`; each comes once. It connects again by itself, and goes on where it was; with
        `wait` also at first, where it would raise `UnreachableError`. Without `follow` it ends once it has read what
        there is. `say` is told in words of a connection lost
        and found, and of decisions that were gone before they could be read.
        """
        arguments = {
            "scope": scope,
            "scopePrefix": scope_prefix,
            "routes": None if routes is None else list(routes),
            "minConfidence": min_confidence,
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        return Decisions(
            self._http, cursor, given, where=self._where, mode=mode, wait=wait, follow=follow, say=say
        )


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _segment(name: str) -> str:
    """A name as one segment of a path: dots too, or one named `..` would be a step up."""
    return quote(name, safe="", errors="surrogatepass").replace(".", "%2E")
