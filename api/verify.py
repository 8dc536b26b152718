"""Whether an endpoint wants what is sent to it: it is asked to say a challenge back before anything else comes."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import msgspec

from attend.api.faults import Faults
from attend.app import Attend
from attend.core.subscription import MINUTE_MS, Failure
from attend.webhooks.endpoint import EndpointError, Poster
from attend.webhooks.message import control_body, control_id, headers_of


class Verifier:
    """Asks an endpoint once for a principal and an address, and again when that has been long ago."""

    def __init__(self, app: Attend, faults: Faults) -> None:
        self._clock = app.clock
        self._rules = app.webhooks
        self._store = app.store.subscriptions
        self._faults = faults
        self._minute = 0
        self._asked: Counter[str] = Counter()

    async def verify(self, principal: str, url: str, secret: str, subscription_id: str) -> None:
        """Raises the fault where the endpoint does not answer as it should, or its host was asked too often."""
        name = hashlib.sha256(json.dumps([principal, url]).encode()).hexdigest()[:32]
        if await self._store.verified(name, self._clock.now()):
            return
        self._count(urlsplit(url).hostname or "")
        challenge = secrets.token_urlsafe(32)
        body = control_body("verification", challenge=challenge)
        headers = headers_of(control_id("verification"), subscription_id, secret, body)
        poster = Poster(self._rules.timeout_ms, local=self._rules.local)
        try:
            answer = await poster.post(url, headers, body)
        except EndpointError as error:
            raise self._faults.callback(error.failure) from None
        finally:
            await poster.close()
        if answer.failure is not None:
            raise self._faults.callback(answer.failure)
        if not hmac.compare_digest(_said(answer.body), challenge.encode()):
            raise self._faults.callback(Failure.CHALLENGE)
        await self._store.verify(name, self._clock.now(), self._rules.verified_ms)

    def _count(self, host: str) -> None:
        minute = self._clock.now() // MINUTE_MS
        if minute != self._minute:
            self._minute = minute
            self._asked.clear()
        if self._asked[host] >= self._rules.verifications:
            raise self._faults.exhausted("verifications", self._rules.verifications)
        self._asked[host] += 1


def _said(body: bytes) -> bytes:
    """The challenge that an answer gives back, b"" for none."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return b""
    said: Any = found.get("challenge") if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
    return said.encode() if isinstance(said, str) else b""
