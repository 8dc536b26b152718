"""Writes, made short."""

from __future__ import annotations

import itertools
from typing import Any

from attend.store.base import Outcome, Row, ScopeStore, Write

AT = 1_760_570_000_000
"""An instant to count from."""

_nonces = (f"x{n}" for n in itertools.count())


def write(scope: str = "a", expected: str = "", **fields: Any) -> Write:
    """A write one version on from `expected`, of an entry if nothing else is said."""
    n = int(expected.partition("-")[0] or 0) + 1
    fields.setdefault("version", f"{n}-{next(_nonces)}")
    fields.setdefault("at", AT)
    if "snapshot" not in fields:
        fields.setdefault("entry", b"entry")
    return Write(scope=scope, expected=expected, **fields)


def row(id: str, *, held: bool = False) -> Row:
    """A decision to log."""
    return Row(id, f"summary of {id}".encode(), f"window of {id}".encode(), held)


async def committed(store: ScopeStore, scope: str = "a", expected: str = "", **fields: Any) -> str:
    """Commit a write that must be ok; its version."""
    made = write(scope, expected, **fields)
    assert await store.commit([made]) == [Outcome.OK]
    return made.version


async def logged(store: ScopeStore, *ids: str, held: bool = False) -> None:
    """Log decisions, each in a scope of its own."""
    writes = [write(f"of {id}", rows=(row(id, held=held),)) for id in ids]
    assert await store.commit(writes) == [Outcome.OK] * len(ids)
