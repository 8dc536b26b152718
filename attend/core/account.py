"""How a decision came about, beyond what its row says: kept beside its window for whoever asks why."""

from __future__ import annotations

from msgspec import Struct

from attend.core.attempt import Past
from attend.core.rules import Rules
from attend.core.types import Reason, Route


class Asked(Struct, frozen=True, omit_defaults=True):
    """What only the process that asked a judge knows: how many milliseconds the answer took, what else it was told.

    `facts_json` is what `context()` said, as JSON; None where it said nothing or `facts_bytes` were too many to
    keep. `images` counts the pictures.
    """

    ms: int
    facts_json: bytes | None = None
    facts_bytes: int = 0
    images: int = 0


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
    """A decision or dead letter reached where it was going, at this instant and start, after these earlier ones."""

    at: int
    starts: int
    past: tuple[Past, ...] = ()


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
