"""One piece of work that is tried until it ends: a judge call, a delivery, a burial.

The three share leases, tokens, failures and losses; what happens when the tries are used up differs, and is
decided in `step`.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

LOSSES_UNTIL_SUSPECT = 2
LOSSES_UNTIL_DEAD = 4


class Attempt(Struct, frozen=True, gc=False, array_like=True):
    """How often work was started and how it stands: running until `leased_until`, or waiting for `due_at`.

    `token` names the latest start. `failures` count calls that raised or timed out, `losses` starts whose worker
    went away.
    """

    due_at: int
    token: int = 0
    leased_until: int | None = None
    failures: int = 0
    losses: int = 0

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
        return Attempt(now, token, now + lease_ms, self.failures, self.losses)

    def fail(self, due_at: int) -> Attempt:
        """Waiting again after a failure, under no token: the call has ended, and is not counted twice."""
        return Attempt(due_at, 0, None, self.failures + 1, self.losses)

    def lose(self, due_at: int) -> Attempt:
        """Waiting again after a loss. The token stays: a verdict that comes after all still counts."""
        return Attempt(due_at, self.token, None, self.failures, self.losses + 1)

    def release(self, now: int) -> Attempt:
        """Waiting again, with nothing counted, under no token: what the old holder may yet say is refused."""
        return Attempt(now, 0, None, self.failures, self.losses)


def loss_backoff(key: str, losses: int, step_ms: int) -> int:
    """How long to wait after the loss that makes it `losses`: 1 ms up to `step_ms`, doubled per earlier loss.

    The jitter spreads windows whose workers died together. It is drawn from a hash of the key, since a replay
    must draw the same.
    """
    width = max(1, step_ms << (losses - 1))
    draw = hashlib.sha256(f"{key}\0{losses}".encode()).digest()
    return 1 + int.from_bytes(draw[:6], "big") % width
