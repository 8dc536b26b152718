"""`attend audit`: who did what, as a store has it on record."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from attend.cli.flags import read
from attend.cli.place import Place, place_of
from attend.cli.screen import hush, one_line
from attend.configured import store_at
from attend.errors import StoreUnavailableError
from attend.option import Option, integer, word
from attend.store.base import ScopeStore

AUDIT = (
    Option("principal", word, "only what this principal did", "all"),
    Option("count", integer(1), "only the last so many rows", "all"),
)

_PAGE = 500


def run_audit(given: Mapping[str, Sequence[str]], *, as_json: bool) -> int:
    """Show the rows and return the exit code: 0, or 3 where the store could not be reached."""
    place = place_of(given, os.environ)
    values, _ = read(AUDIT, given, {})
    try:
        asyncio.run(_run(place, values.get("principal"), values.get("count"), as_json=as_json))
    except StoreUnavailableError as error:
        place.complain(error)
        return 3
    except BrokenPipeError:
        hush()
    return 0


async def _run(place: Place, principal: str | None, count: int | None, *, as_json: bool) -> None:
    store = store_at(place.url, place.prefix)
    await store.open()
    try:
        last: deque[dict[str, Any]] = deque(maxlen=count)
        any_row = False
        async for row in _rows(store):
            if principal is not None and row.get("principal") != principal:
                continue
            any_row = True
            if count is None:
                _write(row, as_json=as_json)
            else:
                last.append(row)
        for row in last:
            _write(row, as_json=as_json)
        if not any_row and not as_json:
            sys.stdout.write("nothing is on record; only what comes with a token is\n")
    finally:
        await store.close()


async def _rows(store: ScopeStore) -> AsyncGenerator[dict[str, Any]]:
    after = ""
    while page := await store.records.read(after, _PAGE):
        for record in page:
            try:
                yield msgspec.json.decode(record.row, type=dict[str, Any])
            except msgspec.DecodeError:
                continue  # Nobody but attend should add one, and one that cannot be read says nothing.
        after = page[-1].id


def _write(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        text = msgspec.json.encode(row).decode()
    else:
        at, principal, act = row.get("at", 0), row.get("principal", ""), row.get("act", "")
        when = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        rest = [f"{name}={value}" for name, value in row.items() if name not in ("at", "principal", "act")]
        text = "  ".join([when, *(one_line(str(part)) for part in (principal, act, *rest))])
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
