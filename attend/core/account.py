"""How a decision came about, beyond what its row says: kept beside its window for whoever asks why."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from attend.core.attempt import Past
from attend.core.rules import Rules
from attend.core.types import Reason, Route

FACTS_BYTES = 8 * 1024
"""How many bytes of facts are kept with a decision."""


class Asked(Struct, frozen=True, omit_defaults=True):
    """What only the process that asked a judge knows: how many milliseconds the answer took, what else it was told.

    `facts_json` is what `context()` said, as JSON; None where it said nothing or `facts_bytes` were too many to
    keep. `images` counts the pictures.
    """

    ms: int
    facts_json: bytes | None = None
    facts_bytes: int = 0
    images: int = 0

    @classmethod
    def of(cls, ms: int, facts: Any, images: int) -> Asked:
        """With facts as any value; those that are no JSON are left out, whatever they were."""
        if facts is None:
            return cls(ms, images=images)
        try:
            facts_json = msgspec.json.encode(facts)
        except Exception:  # noqa: BLE001 - the verdict stands without them
            return cls(ms, images=images)
        size = len(facts_json)
        return cls(ms, facts_json if size <= FACTS_BYTES else None, size, images)


class Account(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision's own: what was on offer, the act threshold, the earlier starts of its judge calls, oldest first.

    `limit` is the rule's number that settled the window, `asked` is None where no judge was asked: what stays down
    is decided by rule.
    """

    offered: tuple[Route, ...]
    threshold: float | None = None
    limit: int | None = None
    failures: int = 0
    losses: int = 0
    past: tuple[Past, ...] = ()
    asked: Asked | None = None


class Arrival(Struct, frozen=True, omit_defaults=True):
    """A decision reached its sink, or a dead letter its handler (`buried`): when, at which start, after which others."""

    at: int
    starts: int
    past: tuple[Past, ...] = ()
    buried: bool = False


def limit_of(reason: Reason, rules: Rules) -> int | None:
    """The number among the rules that settles a window for this reason, in the reason's own unit."""
    return {
        Reason.CLOSING: rules.closing_grace_ms,
        Reason.CONTINUOUS: rules.stream_gap_ms,
        Reason.PASSIVE: rules.passive_quiet_ms,
        Reason.AGE: rules.max_window_ms,
        Reason.SIZE: rules.max_window_bytes,
        Reason.OVERFLOW: rules.max_events,
        Reason.HORIZON: rules.wait_horizon_ms,
    }.get(reason)
