"""One caller's submissions, and what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from attend.core.effect import Call
from attend.core.input import Input
from attend.core.state import ScopeState
from attend.core.step import Reply
from attend.draft import Claim, Submission


class Applied(Struct, frozen=True):
    """What became of inputs: the state as stored now, the calls to make, and a reply for each input.

    `version` is what is stored now, `committed` whether this wrote it. `held` when the claim's `hold` said so:
    then nothing was applied.
    """

    state: ScopeState
    effects: tuple[Call, ...]
    replies: tuple[Reply | None, ...]
    version: str
    committed: bool
    held: bool = False


class Batch:
    """Submissions that are awaited together: `done` once each scope has its result, or nobody waits any more."""

    __slots__ = ("_future", "_timer", "_waiting", "results")

    def __init__(self, scopes: int) -> None:
        self.results: dict[str, Applied | Exception] = {}
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = scopes

    @property
    def done(self) -> bool:
        """Whether it has its results, was timed out, or its caller was cancelled."""
        return self._future.done()

    def settle(self, scope: str, result: Applied | Exception) -> None:
        """A scope's result, of which the first counts; the last scope's wakes the caller."""
        if self.done or scope in self.results:
            return
        self.results[scope] = result
        self._waiting -= 1
        if self._waiting == 0:
            self._future.set_result(None)

    async def wait(self) -> dict[str, Applied | Exception]:
        """Each scope's result."""
        try:
            await self._future
        finally:
            if self._timer is not None:
                self._timer.cancel()
        return self.results

    def expire(self, ms: int, scopes: Sequence[str], error: Callable[[], Exception]) -> None:
        """From `ms` on, scopes without a result have this error for one, asked for then."""
        self._timer = asyncio.get_running_loop().call_later(ms / 1000, self._expired, scopes, error)

    def _expired(self, scopes: Sequence[str], error: Callable[[], Exception]) -> None:
        why = error()
        for scope in scopes:
            if scope not in self.results:
                self.settle(scope, why)


class Waiting(Submission):
    """A submission with the batch that waits for it."""

    __slots__ = ("batch", "patient")

    def __init__(
        self, scope: str, inputs: Sequence[Input], claim: Claim | None, batch: Batch, patient: bool
    ) -> None:
        super().__init__(scope, inputs, claim)
        self.batch = batch
        self.patient = patient
