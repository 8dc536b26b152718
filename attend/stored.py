"""A scope as this process knows it to be stored: made by replay, kept by version."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from attend.core import codec
from attend.core.due import due_at
from attend.core.input import RulesChanged
from attend.core.state import Due, OpenWindow, ScopeState
from attend.core.step import step
from attend.errors import StoreCorruptError
from attend.rulebook import RuleBook
from attend.store.base import Loaded, Outcome


class Stored(Struct, frozen=True, gc=False):
    """A state with the version it is stored as ("" for not stored), and the sizes of its snapshot and tail.

    `lost` for one whose stored parts do not fit together: `state` is then what it starts again from.
    """

    state: ScopeState
    version: str
    due: Due
    snapshot_size: int = 0
    tail_size: int = 0
    lost: bool = False

    @property
    def weight(self) -> int:
        """About how many bytes it takes in memory."""
        return 1024 + 3 * (self.snapshot_size + self.tail_size)


def fresh(scope: str, book: RuleBook) -> Stored:
    """A scope that is not stored."""
    return Stored(ScopeState(scope=scope, generation=book.generation, digest=book.digest), "", Due())


async def restore(scope: str, have: Stored | None, loaded: Loaded, book: RuleBook) -> Stored:
    """What is stored, from what was loaded on top of what this process had.

    Raises `StateFormatError` for what a newer attend wrote, `StoreCorruptError` for what no attend did, and
    `StoreUnavailableError`.
    """
    if loaded.outcome is Outcome.BAD:
        raise StoreCorruptError(f"scope {scope!r}: a key of it holds something attend never wrote")
    if loaded.outcome is not Outcome.OK:
        start = fresh(scope, book)
        state = ScopeState(
            scope=scope, generation=book.generation, digest=book.digest, open=OpenWindow(gap=True)
        )
        return Stored(state, loaded.version, start.due, lost=True)
    if not loaded.version:
        return fresh(scope, book)
    if loaded.snapshot is not None:
        state, snapshot_size, tail_size = codec.decode_state(loaded.snapshot), len(loaded.snapshot), 0
    elif have is not None and have.version:
        state, snapshot_size, tail_size = have.state, have.snapshot_size, have.tail_size
    else:
        raise StoreCorruptError(f"scope {scope!r}: its tail came without the snapshot it belongs to")
    if have is not None and loaded.snapshot is None and not loaded.tail:
        return have
    await book.fetch(state)
    for data in loaded.tail:
        tail_size += len(data)
        for entry in codec.decode_entries(data):
            if isinstance(entry.input, RulesChanged):
                book.learn(entry.input.rules)
            state = step(state, entry.input, entry.now, book.of(state)).state
    return Stored(state, loaded.version, due_at(state, book.of(state)), snapshot_size, tail_size)


class Cache:
    """Scopes lately used, bounded by number and by their weight in bytes."""

    def __init__(self, max_scopes: int, max_bytes: int) -> None:
        self._max_scopes = max_scopes
        self._max_bytes = max_bytes
        self._scopes: OrderedDict[str, Stored] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._scopes)

    def get(self, scope: str) -> Stored | None:
        """A scope, which then counts as just used."""
        found = self._scopes.get(scope)
        if found is not None:
            self._scopes.move_to_end(scope)
        return found

    def put(self, scope: str, stored: Stored) -> None:
        """Keep a scope, making room by dropping those used longest ago."""
        before = self._scopes.pop(scope, None)
        if before is not None:
            self._bytes -= before.weight
        self._scopes[scope] = stored
        self._bytes += stored.weight
        while len(self._scopes) > self._max_scopes or (
            self._bytes > self._max_bytes and len(self._scopes) > 1
        ):
            _, dropped = self._scopes.popitem(last=False)
            self._bytes -= dropped.weight

    def drop(self, scope: str) -> None:
        """Forget a scope."""
        dropped = self._scopes.pop(scope, None)
        if dropped is not None:
            self._bytes -= dropped.weight
