"""Posting to an endpoint that somebody else named, without being led anywhere that only this machine can reach.

The host is looked up for every post, and refused where any of its addresses is not a public one. The connection is
made to the very address that was looked at, under the original name; redirects and proxies are not followed.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from attend.core.subscription import Failure
from attend.option import is_loopback
from attend.retry_after import retry_after_ms

MAX_URL = 2048
ANSWER_BYTES = 64 * 1024
"""How much of an answer is read."""

_lookups = ThreadPoolExecutor(64, "attend-lookup")
"""Threads of their own, since nobody can end a lookup that hangs: others in this process must not wait for it."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class EndpointError(Exception):
    """An endpoint that did not answer, by what may be told of it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class Answer(Struct, frozen=True):
    """What an endpoint answered."""

    status: int
    body: bytes
    retry_after_ms: int

    @property
    def taken(self) -> bool:
        """Whether it was a success."""
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        """Whether it will say the same each time."""
        return self.status in (410, 413)

    @property
    def failure(self) -> Failure | None:
        """What may be told of it."""
        if self.taken:
            return None
        return Failure.HTTP_5XX if self.status >= 500 else Failure.HTTP_4XX


def check_url(url: str, *, local: bool) -> None:
    """Raise `ValueError` for what cannot be an endpoint, whatever its name resolves to."""
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValueError(f"delivery.url must be printable ASCII of at most {MAX_URL} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("delivery.url cannot be read") from None
    if "@" in parts.netloc:
        raise ValueError("delivery.url must not hold a name or a password")
    if not host or port == 0:
        raise ValueError("delivery.url must name a host")
    if parts.fragment:
        raise ValueError("delivery.url must not have a fragment")
    if parts.scheme != "https" and not (local and parts.scheme == "http" and is_loopback(host)):
        raise ValueError("delivery.url must be https")


def is_public(text: str) -> bool:
    """Whether an address is one that anybody on the internet could reach, also as it is written in another one."""
    try:
        address: _Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class Poster:
    """Posts with `timeout_ms` for everything: looking up, connecting, answering. `local` is for tests."""

    def __init__(self, timeout_ms: int, *, local: bool = False) -> None:
        self._timeout = timeout_ms / 1000
        self._local = local
        self._client: httpx.AsyncClient | None = None

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        """Post a body once. Raises `EndpointError`."""
        try:
            check_url(url, local=self._local)
            async with asyncio.timeout(self._timeout):
                return await self._post(url, headers, body)
        except (TimeoutError, httpx.TimeoutException):
            raise EndpointError(Failure.TIMEOUT) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise EndpointError(Failure.TLS if _is_tls(error) else Failure.REFUSED) from None

    async def close(self) -> None:
        """Let go of connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        parts = urlsplit(url)
        host = parts.hostname or ""
        address = await self._address(host, parts.port or (443 if parts.scheme == "https" else 80))
        target = httpx.URL(url).copy_with(host=address)
        async with self._own().stream(
            "POST",
            target,
            content=body,
            headers={**headers, "host": parts.netloc, "accept-encoding": "identity"},
            extensions={"sni_hostname": host},
            follow_redirects=False,
        ) as response:
            read = bytearray()
            async for chunk in response.aiter_raw():
                read += chunk
                if len(read) > ANSWER_BYTES:
                    break
            return Answer(
                response.status_code, bytes(read[:ANSWER_BYTES]), retry_after_ms(response.headers) or 0
            )

    async def _address(self, host: str, port: int) -> str:
        look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(_lookups, look_up)
        addresses = [str(each[4][0]) for each in found]
        wrong = [each for each in addresses if not self._may(each)]
        if wrong or not addresses:
            raise EndpointError(Failure.REFUSED)
        return addresses[0].partition("%")[0]

    def _may(self, address: str) -> bool:
        return is_public(address) or (self._local and is_loopback(address))

    def _own(self) -> httpx.AsyncClient:
        if self._client is None:
            # No connection is kept: one to an address may have been made under another name.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            # No cookie is kept either: endpoints of many owners may share an address.
            self._client = httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(limits=limits),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                trust_env=False,
                timeout=None,
            )
        return self._client


def _is_tls(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
