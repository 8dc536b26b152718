"""A sink that posts each decision to a URL, signed as Standard Webhooks does it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from urllib.parse import urlsplit

import httpx

from attend import option
from attend.core.types import Decision
from attend.errors import ConfigError, SinkError, SinkRejectedError
from attend.retry_after import retry_after_ms
from attend.signature import read_secrets, signed
from attend.sinks.body import body_of
from attend.version import __version__

MAX_CONNECTIONS = 320
"""More than a worker has deliveries in hand at once, unless it is told to take more."""

_KEPT_OPEN = 32
_KEPT_FOR_SECONDS = 4
"""Less than the 5 seconds after which many servers close an idle connection."""

_CONNECT_SECONDS = 10
_REST_BYTES = 64 * 1024
_REST_SECONDS = 1.0
"""How much of an answer is read, and for how long: just so that the connection can be used again."""

_FINAL = {410: "it is gone for good", 413: "the decision is too large for it"}
_WORDS = {
    401: "the request was not authorized",
    403: "it does not let this in",
    404: "there is nothing at this address",
    405: "it does not take POST",
    408: "it ran out of time",
    425: "it is too early for it",
    429: "it is sent too much",
    503: "it is overloaded",
}


class Webhook:
    """Posts decisions to one URL: see `webhook`."""

    def __init__(
        self, url: str, secret: str | None, *, client: httpx.AsyncClient | None, max_connections: int
    ) -> None:
        problems: list[str] = []
        host = "?"
        try:
            host = urlsplit(option.endpoint([url])).hostname or "?"
        except ValueError as error:
            problems.append(f"webhook: {error}")
        try:
            self._keys = None if secret is None else read_secrets(secret)
        except ValueError as error:
            problems.append(
                f"webhook: its secret {error}" if "is empty" in str(error) else f"webhook: {error}"
            )
        if problems:
            raise ConfigError(*problems)
        self._url = url
        self._who = f"webhook at {host}"
        self._here = option.is_loopback(host)
        self._limits = httpx.Limits(
            max_connections=max_connections,
            max_keepalive_connections=min(_KEPT_OPEN, max_connections),
            keepalive_expiry=_KEPT_FOR_SECONDS,
        )
        self._given = client
        self._own: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<{self._who}>"

    async def deliver(self, decision: Decision) -> None:
        """Post it. Raises `SinkError` where it was not taken, `SinkRejectedError` where it never will be."""
        body = body_of(decision)
        try:
            async with self._client().stream(
                "POST",
                self._url,
                content=body,
                headers=self._headers(decision.id, body),
                follow_redirects=False,
            ) as response:
                await _drain(response)
                self._check(response)
        except httpx.RequestError as error:
            # Its text may repeat the address, which may hold a secret.
            raise SinkError(f"{self._who}: no answer ({type(error).__name__})") from None

    async def aclose(self) -> None:
        """Close the connections that it opened itself."""
        own, self._own = self._own, None
        if own is not None and self._loop is asyncio.get_running_loop():
            await own.aclose()

    def _headers(self, id: str, body: bytes) -> dict[str, str]:
        now = int(time.time())
        headers = {
            "content-type": "application/json",
            "user-agent": f"attend/{__version__}",
            "webhook-id": id,
            "webhook-timestamp": str(now),
        }
        if self._keys is not None:
            headers["webhook-signature"] = signed(self._keys, id, now, body)
        return headers

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        if status in _FINAL:
            raise SinkRejectedError(f"{self._who}: {status}: {_FINAL[status]}", status=status)
        if 300 <= status < 400:
            words = "it sends deliveries elsewhere, which is not followed; give --sink the address they go to"
        else:
            words = _WORDS.get(status, "it failed" if status >= 500 else "it turned the delivery down")
        wait = retry_after_ms(response.headers)
        if wait:
            words += f", and asks for {wait} ms"
        raise SinkError(f"{self._who}: {status}: {words}", status=status, retry_after_ms=wait)

    def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._loop is not loop:
            # How long a try may take is for its lease to say; it is cancelled then.
            # A proxy named in the environment has no business between here and this machine.
            self._own = httpx.AsyncClient(
                timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
                limits=self._limits,
                trust_env=not self._here,
            )
            self._loop = loop
        return self._own


def webhook(
    url: str,
    secret: str | None = None,
    *,
    client: httpx.AsyncClient | None = None,
    max_connections: int = MAX_CONNECTIONS,
) -> Webhook:
    """A sink that posts each decision, with its window's events, to a URL: https, or http on this machine.

    Every try has the decision's id as `webhook-id` and the same body; with a `secret` (`whsec_...`, or several with
    blanks between while one is replaced) it is signed, freshly each time. Any 2xx is taken for delivered. 410 and 413
    make a dead letter at once; everything else is tried again, no earlier than a Retry-After says. Redirects are
    not followed. A try ends with its lease, `delivery_timeout_ms`. With a `client` of yours that one is used, its
    limits and timeouts with it, and never closed.

    Raises `ConfigError` for a URL or a secret that cannot be used.
    """
    return Webhook(url, secret, client=client, max_connections=max_connections)


async def _drain(response: httpx.Response) -> None:
    """Read an answer's body within bounds; how far that comes changes nothing."""
    with suppress(httpx.RequestError, TimeoutError):
        async with asyncio.timeout(_REST_SECONDS):
            left = _REST_BYTES
            async for chunk in response.aiter_raw():
                left -= len(chunk)
                if left < 0:
                    return
