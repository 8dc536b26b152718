"""The dead letters of a store: listed, shown, retried, dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct

from attend.core import codec
from attend.core.input import DeadDropped, DeadRetried
from attend.core.letter import Lettered, LetterOutcome
from attend.core.state import Dead
from attend.core.types import DeadLetter, Stage
from attend.engine import Engine
from attend.errors import AttendError, StateFormatError, StoreCorruptError
from attend.kept import letter_of

PAGE = 100
"""How many scopes are asked for at once."""

_MARK = "dead-"


class LetterLine(Struct, frozen=True, rename="camel"):
    """A dead letter in short: where it is, what gave up on it when, after how many starts, and what was said last."""

    id: str
    scope: str
    stage: Stage
    at: int
    starts: int
    event_count: int
    message: str


class Letters:
    """Every method raises `StoreUnavailableError`, and `ConflictError` where it changes something."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self, scope: str | None = None) -> AsyncIterator[LetterLine]:
        """Every letter there is, or those of one scope: scope by scope, oldest first."""
        for name in await self._scopes(scope):
            for dead in await self._lane(name):
                yield LetterLine(
                    dead.id, name, dead.stage, dead.at, dead.starts, len(dead.event_ids), dead.message
                )

    async def show(self, id: str) -> DeadLetter | None:
        """A letter with its window, and its decision where it has one; None where there is no such letter."""
        found = await self._find(id)
        if found is None:
            return None
        scope, dead = found
        stored = await self._engine.store.window(dead.window)
        return letter_of(scope, dead.id, dead.stage, dead.message, dead.starts, dead.at, stored)

    async def retry(self, id: str) -> LetterOutcome:
        """Try a letter again, from the stage that gave up on it, with fresh counts.

        A decision goes to the end of its scope's outbox. A window is judged again as soon as the scope's judge slot
        is free, in turn with what settles meanwhile, and `wait` is not offered.
        """
        found = await self._find(id)
        if found is None:
            return LetterOutcome.UNKNOWN
        scope, dead = found
        window = None
        if dead.stage is Stage.JUDGE:
            stored = await self._engine.store.window(dead.window)
            window = None if stored is None else codec.decode_window(stored.window)
        return await self._ask(scope, DeadRetried(dead.id, dead.at, window))

    async def drop(self, id: str) -> LetterOutcome:
        """Give up on a letter for good: nobody hears of its window any more."""
        found = await self._find(id)
        if found is None:
            return LetterOutcome.UNKNOWN
        scope, dead = found
        return await self._ask(scope, DeadDropped(dead.id, dead.at))

    async def _ask(self, scope: str, asked: DeadRetried | DeadDropped) -> LetterOutcome:
        reply = (await self._engine.apply(scope, (asked,))).replies[0]
        assert isinstance(reply, Lettered)
        return reply.outcome

    async def _scopes(self, scope: str | None) -> list[str]:
        await self._engine.start()
        if scope is not None:
            return [scope]
        names: list[str] = []
        while page := await self._engine.store.dead(PAGE, len(names)):
            names += page
        return list(dict.fromkeys(names))

    async def _lane(self, scope: str) -> tuple[Dead, ...]:
        """A scope's letters; none where its state cannot be read, which is for the doctor to say."""
        try:
            state = await self._engine.state(scope)
        except (StateFormatError, StoreCorruptError):
            return ()
        return () if state is None else state.dead

    async def _find(self, id: str) -> tuple[str, Dead] | None:
        await self._engine.start()
        scope = await self._scope_of(id)
        for name in await self._scopes(scope):
            for dead in await self._lane(name):
                if dead.id == id:
                    return name, dead
        return None

    async def _scope_of(self, id: str) -> str | None:
        """The scope that a letter's window names; None where that is gone, so that all must be looked at."""
        stored = await self._engine.store.window(id.removeprefix(_MARK))
        try:
            return None if stored is None else codec.decode_window(stored.window).scope
        except AttendError:
            return None
