"""Sources: streams of events that are read from a cursor and attached to a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from attend.core.event import NewEvent
from attend.core.step import Taken
from attend.engine import Engine
from attend.errors import AlreadyAttachedError, PermanentError
from attend.trace import SourceFailed


class Emit(Protocol):
    """Hands events over; returns once they and the cursor have committed, together."""

    async def __call__(
        self, events: Iterable[NewEvent | Mapping[str, Any]], cursor: str | None, *, gap: bool = False
    ) -> Taken:
        """`cursor` says how far the source has been read with these; `gap` that it lost events before them.

        Raises `OutboxFullError`, `ConflictError` and `StoreUnavailableError`; the cursor then stays where it was.
        """
        ...


class Source(Protocol):
    """Something to read events from. `key` names it within a scope: its cursor is kept under that name."""

    @property
    def key(self) -> str:
        """The same after a restart."""
        ...

    async def run(self, cursor: str | None, emit: Emit) -> None:
        """Read on from the cursor and emit, until there is no more.

        What it raises makes attend wait and run it again from the committed cursor; `PermanentError` ends it.
        """
        ...


class Sources:
    """The sources attached in this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._attached: set[tuple[str, str]] = set()

    async def attach(self, scope: str, source: Source, emit: Callable[[str], Emit]) -> None:
        """Run a source until it ends, again and again while it fails. See `Attend.attach`."""
        name = (scope, source.key)
        if name in self._attached:
            raise AlreadyAttachedError(f"source {source.key!r} is attached to scope {scope!r} already")
        self._attached.add(name)
        try:
            await self._keep_running(scope, source, emit(source.key))
        finally:
            self._attached.discard(name)

    async def _keep_running(self, scope: str, source: Source, emit: Emit) -> None:
        failures = 0

        async def emitted(
            events: Iterable[NewEvent | Mapping[str, Any]], cursor: str | None, *, gap: bool = False
        ) -> Taken:
            nonlocal failures
            taken = await emit(events, cursor, gap=gap)
            failures = 0
            return taken

        while True:
            try:
                state = await self._engine.state(scope)
                return await source.run(None if state is None else state.cursors.get(source.key), emitted)
            except PermanentError:
                raise
            except Exception as error:  # noqa: BLE001 - a source may raise anything, and is run again
                ladder = self._engine.book.own.retry_backoff_ms or (1000,)
                retry_ms = ladder[min(failures, len(ladder) - 1)]
                failures += 1
                self._engine.observe(SourceFailed(scope, source.key, str(error)[:500], retry_ms))
                await self._engine.clock.sleep(retry_ms)
