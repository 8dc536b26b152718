"""One POST to a judge's server, and what can go wrong with it."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from attend.errors import ConfigError, JudgeError
from attend.judges.fault import decoded, fault, request_id
from attend.judges.shape import is_object
from attend.version import __version__

MAX_REPLY_BYTES = 4 * 1024 * 1024
_TIMEOUT = httpx.Timeout(60, connect=10)
"""A backstop: attend cancels a call at `judge_timeout_ms`."""

_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=240)
"""Servers close an idle connection after about 5 minutes; a warm one saves a second or two."""


class Reply(Struct, frozen=True):
    """An answer: its JSON, and what the other side calls the request."""

    body: Any
    request_id: str | None


class Wire:
    """A way to one address.

    `who` names the judge in messages. With a `client` of the caller's own that one is used and never closed; else
    one is made at the first call, for the event loop that runs then. Redirects are never followed: they would
    carry the window and the key elsewhere. Raises `ConfigError` for an address or a header that cannot be used.
    """

    def __init__(
        self, who: str, url: str, headers: Mapping[str, str], client: httpx.AsyncClient | None = None
    ) -> None:
        self._who = who
        self._loopback = check_url(who, url)
        self._url = url
        self._headers = {
            "user-agent": f"attend/{__version__}",
            **_lower(who, headers),
            "content-type": "application/json",
        }
        self._given = client
        self._own: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<{self._who}>"

    async def post(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, images: bool = False
    ) -> Reply:
        """Sends a JSON body and gives back the JSON that answers it.

        `images` says whether pictures are aboard. Raises `JudgeError`, or what `fault` makes of an error status.
        """
        client = self._client()
        try:
            async with client.stream(
                "POST",
                self._url,
                content=body,
                headers={**self._headers, **(headers or {})},
                follow_redirects=False,
            ) as response:
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_REPLY_BYTES:
                        break
        except httpx.RequestError as error:
            # Its text may repeat a header, so only its name is kept, and it is not chained.
            name = type(error).__name__
            raise JudgeError(f"{self._who}: no answer ({name})") from None
        # What an error may not repeat: the window and the key.
        sent = body + self._headers.get("authorization", "").encode()
        status, said = response.status_code, request_id(response.headers, sent)
        if len(content) > MAX_REPLY_BYTES:
            raise JudgeError(
                f"{self._who}: its reply is over {MAX_REPLY_BYTES} bytes", status=status, request_id=said
            )
        value = decoded(bytes(content))
        if not 200 <= status < 300:
            raise fault(self._who, status, response.headers, value, images=images, sent=sent)
        inner = _status_within(value)
        if inner is not None:
            raise fault(self._who, inner, response.headers, value, images=images, sent=sent)
        if value is None:
            raise JudgeError(f"{self._who}: its reply is not JSON", status=status, request_id=said)
        return Reply(value, said)

    async def aclose(self) -> None:
        """Closes the connections that it opened itself."""
        own, self._own = self._own, None
        if own is not None and self._loop is asyncio.get_running_loop():
            await own.aclose()

    def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._loop is not loop:
            # A proxy named in the environment has no business between here and this machine.
            self._own = httpx.AsyncClient(timeout=_TIMEOUT, limits=_LIMITS, trust_env=not self._loopback)
            self._loop = loop
        return self._own


def check_url(who: str, url: str) -> bool:
    """Whether the URL is on this machine. Raises `ConfigError` where it cannot be used; a password is never shown."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"{who}: its URL cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"{who}: its URL must be a whole one, as https://host/path is")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{who}: its URL holds a name or a password; give an authorization header instead")
    loopback = is_loopback(host)
    if parts.scheme == "http" and not loopback:
        raise ConfigError(f"{who}: http://{host} would send windows and the key in the clear; use https")
    return loopback


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or address alone."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bearer(
    who: str, url: str, api_key: str | None, headers: Mapping[str, str] | None, *, hint: str
) -> dict[str, str]:
    """The headers with the key as a bearer token, where they authorize nothing themselves.

    No key is needed on this machine. Raises `ConfigError` with `hint` where one is needed and missing.
    """
    found = _lower(who, headers or {})
    if "authorization" in found:
        return found
    if api_key:
        if not re.fullmatch(r"[!-~]+", api_key):
            raise ConfigError(f"{who}: its key must be printable ASCII without blanks")
        return {**found, "authorization": f"Bearer {api_key}"}
    if not check_url(who, url):
        raise ConfigError(f"{who}: it has no key; {hint}")
    return found


def _lower(who: str, headers: Mapping[str, str]) -> dict[str, str]:
    wrong = [name for name, value in headers.items() if not re.fullmatch(r"[ -~]*", value)]
    wrong += [name for name in headers if not re.fullmatch(r"[A-Za-z0-9_-]+", name)]
    if wrong:
        raise ConfigError(f"{who}: a header's name or value holds what no header can carry")
    return {name.lower(): value for name, value in headers.items()}


def _status_within(value: Any) -> int | None:
    """The status of an error that came as a 200, as routers in front of several providers send it."""
    error = value.get("error") if is_object(value) else None
    code = error.get("code") if is_object(error) else None
    return code if type(code) is int and 400 <= code <= 599 else None
