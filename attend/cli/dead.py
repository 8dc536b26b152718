"""`attend dead`: the dead letters of a store listed, shown, retried and dropped, while others serve it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from attend.cli.place import Place, place_of
from attend.cli.screen import complain, count, hush, one_line, safe, span
from attend.clock import SystemClock
from attend.configured import store_at
from attend.core.letter import LetterOutcome
from attend.core.rules import Rules
from attend.core.types import DeadLetter, letter_id
from attend.engine import Engine
from attend.errors import ConfigError, StoreUnavailableError
from attend.letters import Letters
from attend.store.base import ScopeStore
from attend.store.records import Entry, Records

OPERATOR = "(command line)"
"""Who is on record for what the command line changed: no principal can be called so."""

_WORDS = {
    LetterOutcome.UNKNOWN: "there is no such dead letter",
    LetterOutcome.GONE: "its window is no longer stored, so it cannot be judged again; it can be dropped",
    LetterOutcome.FULL: "its scope has as much waiting for a retry as it may; retry it once that is judged",
    LetterOutcome.NO_SINK: "the deployment has no sink that would take it; give it one, or drop the letter",
}


def run_dead(
    act: str,
    ids: Sequence[str],
    given: Mapping[str, Sequence[str]],
    *,
    everything: bool = False,
    as_json: bool = False,
) -> int:
    """Run it and return the exit code.

    0 all was done, 1 a letter was not found or could not be retried, 3 the store could not be reached. Raises
    `ConfigError` with what is wrong with the command line.
    """
    # `attend scope`, logs and agents name a letter's window; the letter's own id is made from it.
    ids = [letter_id(id.removeprefix("dead-")) for id in ids]
    place = place_of(given, os.environ)
    scope = given["scope"][-1] if given.get("scope") else None
    _check(act, ids, scope, everything)
    try:
        return asyncio.run(_run(act, list(ids), place, scope, as_json=as_json))
    except StoreUnavailableError as error:
        place.complain(error)
        return 3
    except BrokenPipeError:
        hush()
        return 0


def _check(act: str, ids: Sequence[str], scope: str | None, everything: bool) -> None:
    if act in ("retry", "drop") and bool(ids) == everything:
        raise ConfigError(f"attend dead {act}: give the ids of dead letters, or --all; one of the two")
    if ids and scope is not None:
        raise ConfigError("--scope: it goes with --all; an id says by itself where its letter is")


async def _run(act: str, ids: list[str], place: Place, scope: str | None, *, as_json: bool) -> int:
    async with _letters(place) as (letters, store, clock):
        if act == "list":
            return await _list(letters, scope, clock.now(), as_json=as_json)
        if act == "show":
            return await _show(letters, ids[0], as_json=as_json)
        if not ids:
            ids = [letter.id async for letter in letters.all(scope)]
        return await _each(letters, act, ids, store.records, clock, as_json=as_json)


@asynccontextmanager
async def _letters(place: Place) -> AsyncGenerator[tuple[Letters, ScopeStore, SystemClock], None]:
    store = store_at(place.url, place.prefix)
    clock = SystemClock()
    # The rules are those of the processes that serve the store: this one has none to add.
    engine = Engine(store, Rules(), clock, register=False)
    try:
        await engine.start()
        yield Letters(engine), store, clock
    finally:
        await engine.close()
        await store.close()


async def _list(letters: Letters, scope: str | None, now: int, *, as_json: bool) -> int:
    found = 0
    async for each in letters.all(scope):
        found += 1
        if as_json:
            _write(msgspec.json.encode(each).decode())
        else:
            events = count(each.event_count, "event")
            tries = count(each.starts, "start")
            _write(
                f"{each.id}  {one_line(each.scope)}  {each.stage}, {tries}, {events}, {span(max(0, now - each.at))} ago: "
                f"{one_line(each.message)}"
            )
    if not found and not as_json:
        _write("there are no dead letters")
    return 0


async def _show(letters: Letters, id: str, *, as_json: bool) -> int:
    letter = await letters.show(id)
    if letter is None:
        complain(f"{one_line(id)}: {_WORDS[LetterOutcome.UNKNOWN]}")
        return 1
    _write(msgspec.json.encode(_json(letter)).decode() if as_json else _text(letter))
    return 0


async def _each(
    letters: Letters, act: str, ids: list[str], records: Records, clock: SystemClock, *, as_json: bool
) -> int:
    code = 0
    for id in dict.fromkeys(ids):
        outcome = await (letters.retry(id) if act == "retry" else letters.drop(id))
        done = outcome is LetterOutcome.DONE
        if done:
            row = {"at": clock.now(), "principal": OPERATOR, "act": f"dead_{act}", "id": id}
            # How many rows are kept is for the API to say, which adds most of them.
            await records.add([Entry(msgspec.json.encode(row), clock.now())], sys.maxsize)
        if as_json:
            _write(msgspec.json.encode({"id": id, "outcome": outcome}).decode())
        elif done:
            _write(f"{one_line(id)}: {'on its way again' if act == 'retry' else 'dropped'}")
        else:
            complain(f"{one_line(id)}: {_WORDS[outcome]}")
        code = code if done else 1
    return code


def _json(letter: DeadLetter) -> dict[str, Any]:
    window = letter.window
    return {
        "id": letter.id,
        "scope": letter.scope,
        "stage": letter.stage,
        "message": letter.message,
        "starts": letter.starts,
        "at": letter.at,
        "windowId": letter.id.removeprefix("dead-"),
        "route": None if letter.decision is None else letter.decision.route,
        "reason": window.reason,
        "settledAt": window.settled_at,
        "dropped": window.dropped,
        "gap": window.gap,
        "events": [
            {
                "id": event.id,
                "name": event.name,
                "kind": event.kind,
                "at": event.at,
                "acceptedAt": event.accepted_at,
                "data": msgspec.Raw(event.data_json),
                "text": event.text,
            }
            for event in window.events
        ],
    }


def _text(letter: DeadLetter) -> str:
    window, decision = letter.window, letter.decision
    lines = [
        f"{letter.id}  {one_line(letter.scope)}",
        f"  given up by the {letter.stage} after {letter.starts}: {one_line(letter.message)}",
        f"  settled: {window.reason}; decided: {'not' if decision is None else decision.route}",
        *([f"  {count(window.dropped, 'event')} of less weight shed"] if window.dropped else []),
        *(["  its window is no longer stored"] if not window.events else []),
    ]
    for event in window.events:
        said = event.text if event.text is not None else event.data_json.decode(errors="replace")
        lines.append(f"  {event.kind} {one_line(event.name)} ({one_line(event.id)})")
        lines += [f"    {line}" for line in safe(said).split("\n")]
    return "\n".join(lines)


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
