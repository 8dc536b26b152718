"""How many lines a principal may send in a second: a bucket each that fills up again as time goes by."""

from __future__ import annotations

import asyncio

from attend.api.auth import Principal

_MOST = 10_000
"""Buckets kept; those that are full again are let go beyond it."""


class Rates:
    """The buckets of one process. `per_second` is lines; None for no limit.

    A bucket holds a second's worth. What comes may take more than there is, so that a body of any size can be
    taken, and then the next has to wait until the debt is paid.
    """

    def __init__(self, per_second: int | None) -> None:
        self._per_second = per_second
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_ms(self, principal: Principal) -> int:
        """How long the principal has to wait before it may send more; 0 for not at all."""
        if self._per_second is None:
            return 0
        left = self._left(principal.name, self._per_second)
        return 0 if left > 0 else int(-left * 1000 / self._per_second) + 1

    def spend(self, principal: Principal, lines: int) -> None:
        """Count lines that it sent."""
        if self._per_second is None:
            return
        now = asyncio.get_running_loop().time()
        self._buckets[principal.name] = (self._left(principal.name, self._per_second) - lines, now)
        if len(self._buckets) > _MOST:
            self._buckets = {
                name: bucket
                for name, bucket in self._buckets.items()
                if self._left(name, self._per_second) < self._per_second
            }

    def _left(self, name: str, per_second: int) -> float:
        left, since = self._buckets.get(name, (float(per_second), 0.0))
        return min(float(per_second), left + (asyncio.get_running_loop().time() - since) * per_second)
