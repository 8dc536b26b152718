"""What is posted to an endpoint: bodies, and the headers that sign them as Standard Webhooks does."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

from attend.core.subscription import Subscription
from attend.core.types import Summary
from attend.payload import Arguments, payload, timestamp
from attend.signature import read_secrets, signed
from attend.version import __version__

MAX_BODY = 256 * 1024


def headers_of(id: str, subscription_id: str, secret: str, body: bytes) -> dict[str, str]:
    """The headers of one try. `secret` is one or more, with blanks between; each signs."""
    now = int(time.time())
    return {
        "content-type": "application/json",
        "user-agent": f"attend/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(now),
        "webhook-signature": signed(read_secrets(secret), id, now, body),
        "x-mcp-subscription-id": subscription_id,
    }


def control_id(type: str) -> str:
    """The id of a message that is no event."""
    return f"msg_{type}_{secrets.token_hex(12)}"


def control_body(type: str, **more: Any) -> bytes:
    """A message that is no event: `gap`, `terminated` or `verification`."""
    return _encoded({"type": type, **more})


def event_body(subscription: Subscription, arguments: Arguments, decision: Summary, cursor: str) -> bytes:
    """An event; where it would be too long for a webhook without the ids of its events, and then without its notice."""
    data = payload(decision, redact=arguments.redact, named=arguments.scope)
    whole: dict[str, Any] = {
        "eventId": decision.id,
        "name": subscription.name,
        "timestamp": timestamp(decision.decided_at),
        "data": data,
        "cursor": cursor,
    }
    body = _encoded(whole)
    for name in ("eventIds", "notice"):
        if len(body) > MAX_BODY:
            data.pop(name, None)
            body = _encoded(whole)
    return body


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
