"""How long the other side asks to be left alone."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

MOST_MS = 86_400_000
"""A day: what asks for longer is taken for that."""


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The wait in milliseconds that a response's headers ask for, rounded up; None where they name none.

    `headers` must ignore case, or be in lower case. `retry-after-ms` comes before `retry-after`, which is in
    seconds, whole or not, or an HTTP date. A date is measured from the response's own `date`, so that neither
    side's clock matters, and from this machine's where that is missing.
    """
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return _bounded(exact)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return _bounded(seconds * 1000)
    at = _instant(value)
    if at is None:
        return None
    sent = _instant(headers.get("date"))
    return _bounded((at - (time.time() if sent is None else sent)) * 1000)


def _bounded(ms: float) -> int:
    return min(MOST_MS, max(0, math.ceil(ms)))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _instant(text: str | None) -> float | None:
    try:
        at = parsedate_to_datetime(text or "")
        # A date without a zone is meant as GMT, the only zone that an HTTP date has.
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
