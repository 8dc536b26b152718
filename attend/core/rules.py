"""The settings that decide, as one value: every process that steps a scope must step it with the same ones."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec
from msgspec import Struct

from attend.core.news import Signal


class OnJudgeDown(StrEnum):
    """What becomes of a window whose judge stays down."""

    DEAD_LETTER = "dead-letter"
    """It is given up on, as one that the judge refuses always is."""
    RULE = "rule"
    """It is decided by rule, and the decision is marked `degraded`."""


class Rules(Struct, frozen=True, kw_only=True):
    """The numbers behind `step` and `due_at`. Times are milliseconds.

    `sink` and `dead_letter` say whether anybody takes decisions and dead letters in process: without a sink
    there is no outbox, without a handler dead letters are kept until someone lists them. `on_judge_down` is for
    windows whose judge used up its retries, or cannot be asked at all. `signals` has the events that are news, by
    name, beside those that are by default; None for one that is not.
    """

    closing_grace_ms: int = 500
    stream_gap_ms: int = 1000
    passive_quiet_ms: int = 4000
    wait_horizon_ms: int = 10_000
    max_waits: int = 2
    max_events: int = 250
    max_window_ms: int = 60_000
    max_window_bytes: int = 8 * 1024 * 1024
    act_threshold: float | None = None
    retry_backoff_ms: tuple[int, ...] = (1000, 4000, 16_000)
    judge_timeout_ms: int = 15_000
    delivery_timeout_ms: int = 10_000
    recent_count: int = 8
    seen_count: int = 500
    max_outbox: int = 1000
    max_dead_letters: int = 1000
    dead_letter_backoff_max_ms: int = 60_000
    sink: bool = False
    dead_letter: bool = False
    on_judge_down: OnJudgeDown = OnJudgeDown.DEAD_LETTER
    signals: dict[str, Signal | None] = {}

    @property
    def digest(self) -> str:
        """A name for exactly these rules."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()[:16]

    def problems(self) -> list[str]:
        """What is wrong with them, one line each; empty when they can be used."""
        found = [
            f"{name} is {getattr(self, name)}, it must be {least} or more"
            for name, least in LEAST.items()
            if getattr(self, name) < least
        ]
        if any(rung < 0 for rung in self.retry_backoff_ms):
            found.append(f"retry_backoff_ms is {list(self.retry_backoff_ms)}, no rung may be below 0")
        if self.act_threshold is not None and not 0 < self.act_threshold <= 1:
            found.append(f"act_threshold is {self.act_threshold}, it must be above 0 and at most 1")
        if self.seen_count < self.max_events:
            found.append(
                f"seen_count ({self.seen_count}) is below max_events ({self.max_events}): "
                "a window could outlive the memory of its own ids"
            )
        return found


LEAST = {
    "closing_grace_ms": 0,
    "stream_gap_ms": 0,
    "passive_quiet_ms": 0,
    "wait_horizon_ms": 0,
    "max_waits": 0,
    "max_events": 1,
    "max_window_ms": 1,
    "max_window_bytes": 1,
    "judge_timeout_ms": 1,
    "delivery_timeout_ms": 1,
    "recent_count": 0,
    "seen_count": 1,
    "max_outbox": 1,
    "max_dead_letters": 1,
    "dead_letter_backoff_max_ms": 1,
}
"""The least that each number may be."""


def window_budget(
    context_tokens: int, *, reserved_tokens: int = 2048, window_share: float = 0.5, bytes_per_token: int = 3
) -> int:
    """How many bytes a window may hold for a judge that reads `context_tokens` tokens.

    `(context_tokens - reserved_tokens) * window_share * bytes_per_token`, and never below one event's worth.
    """
    return max(1024, int((context_tokens - reserved_tokens) * window_share * bytes_per_token))
