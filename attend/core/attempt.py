"""One piece of work that is tried until it ends: a judge call, a delivery, a burial.

The three share leases, tokens, failures and losses; what happens when the tries are used up differs, and is
decided in `step`.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct

LOSSES_UNTIL_SUSPECT = 2
LOSSES_UNTIL_DEAD = 4


class End(StrEnum):
    """How a start ended that did not end the work."""

    FAILED = "failed"
    LOST = "lost"
    WAIT = "wait"
    """The verdict was to wait: the window was held and judged again."""


class Past(Struct, frozen=True, gc=False, array_like=True):
    """An earlier start: when and how it ended, and the first words of what it said."""

    at: int
    end: End
    message: str = ""


PASTS = 12
"""How many earlier starts are remembered of a piece of work: the last ones."""

PAST_MESSAGE_CHARS = 200


class Attempt(Struct, frozen=True, gc=False, array_like=True):
    """How often work was started and how it stands: running until `leased_until`, or waiting for `due_at`.

    `token` names the latest start. `failures` count calls that raised or timed out, `losses` starts whose worker
    went away. `past` has the last starts that ended, for whoever asks why; nothing is decided by it.
    """

    due_at: int
    token: int = 0
    leased_until: int | None = None
    failures: int = 0
    losses: int = 0
    past: tuple[Past, ...] = ()

    @property
    def next_at(self) -> int:
        """When a lane next has something to do for it."""
        return self.due_at if self.leased_until is None else self.leased_until

    @property
    def starts(self) -> int:
        """Which start this is, or will be: failures + losses + 1."""
        return self.failures + self.losses + 1

    @property
    def suspect(self) -> bool:
        """Whether it has cost so many workers that it runs in a process of its own."""
        return self.losses >= LOSSES_UNTIL_SUSPECT

    def may_start(self, now: int) -> bool:
        """Whether it is waiting and its instant has come."""
        return self.leased_until is None and self.due_at <= now

    def expired(self, now: int) -> bool:
        """Whether it was started and its lease has run out."""
        return self.leased_until is not None and self.leased_until <= now

    def start(self, now: int, lease_ms: int, token: int) -> Attempt:
        """Started under a new token."""
        return Attempt(now, token, now + lease_ms, self.failures, self.losses, self.past)

    def fail(self, due_at: int, now: int, message: str) -> Attempt:
        """Waiting again after a failure, under no token: the call has ended, and is not counted twice."""
        return Attempt(
            due_at, 0, None, self.failures + 1, self.losses, self.and_then(now, End.FAILED, message)
        )

    def lose(self, due_at: int, now: int) -> Attempt:
        """Waiting again after a loss. The token stays: a verdict that comes after all still counts."""
        past = self.and_then(now, End.LOST)
        return Attempt(due_at, self.token, None, self.failures, self.losses + 1, past)

    def and_then(self, now: int, end: End, message: str = "") -> tuple[Past, ...]:
        """The earlier starts with one more."""
        return (*self.past, Past(now, end, message[:PAST_MESSAGE_CHARS]))[-PASTS:]

    def release(self, now: int) -> Attempt:
        """Waiting again, with nothing counted, under no token: what the old holder may yet say is refused."""
        return Attempt(now, 0, None, self.failures, self.losses, self.past)


def loss_backoff(key: str, losses: int, step_ms: int) -> int:
    """How long to wait after the loss that makes it `losses`: 1 ms up to `step_ms`, doubled per earlier loss.

    The jitter spreads windows whose workers died together. It is drawn from a hash of the key, since a replay
    must draw the same.
    """
    width = max(1, step_ms << (losses - 1))
    draw = hashlib.sha256(f"{key}\0{losses}".encode()).digest()
    return 1 + int.from_bytes(draw[:6], "big") % width
