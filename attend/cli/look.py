"""`attend scope NAME`: what is in a scope and why it has not settled, once or as it changes."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec

from attend.cli.portrait import portrait
from attend.cli.remote import client_of
from attend.cli.screen import complain, console, one_line
from attend.client import Client
from attend.core.report import Report
from attend.errors import AnswerError, UnreachableError

EVERY = 1.0
"""Seconds between looks."""

FRAME = 0.1
"""Seconds between frames of a countdown."""

NO_SCOPE = "no scope {} is known, or it is not yours to see"


def run_look(name: str, given: Mapping[str, Sequence[str]], *, as_json: bool, watch: bool) -> int:
    """Show a scope, and return the exit code: 0, 1 where there is none, 3 where the server could not be reached."""
    client = client_of(given, os.environ)
    try:
        return asyncio.run(_look(client, name, as_json=as_json, watch=watch))
    except KeyboardInterrupt:
        return 0


async def _look(client: Client, name: str, *, as_json: bool, watch: bool) -> int:
    async with client:
        try:
            if not watch:
                found = await client.scope(name)
                if found is None:
                    complain(NO_SCOPE.format(one_line(name)))
                    return 1
                _show(found, as_json=as_json)
            elif console().is_terminal and not as_json:
                await _live(client, name)
            else:
                await _changes(client, name, as_json=as_json)
        except UnreachableError as error:
            complain(str(error))
            return 3
        except AnswerError as error:
            complain(f"the server turned it down: {error}")
            return 2
    return 0


def _show(found: Report, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        console().print(portrait(found, found.now))
    sys.stdout.flush()


async def _changes(client: Client, name: str, *, as_json: bool) -> None:
    """In a pipe: the report again each time that it is another."""
    last: Report | None = None
    while True:
        found = await _try(client, name)
        if isinstance(found, Report):
            same = last is not None and msgspec.structs.replace(found, now=last.now) == last
            if not same:
                _show(found, as_json=as_json)
            last = found
        await asyncio.sleep(EVERY)


async def _live(client: Client, name: str) -> None:
    """On a terminal: one picture, its deadlines counting down."""
    from rich.live import Live
    from rich.text import Text

    found: Report | str | None = await client.scope(name)
    looked = time.monotonic()
    with Live(console=console(), auto_refresh=False, transient=False) as live:
        while True:
            now = time.monotonic()
            if now - looked >= EVERY:
                found, looked = await _try(client, name), now
            if isinstance(found, Report):
                live.update(portrait(found, found.now + int((now - looked) * 1000)), refresh=True)
            else:
                live.update(
                    Text(found or f"{NO_SCOPE.format(one_line(name))}; watching for it", "yellow"),
                    refresh=True,
                )
            await asyncio.sleep(FRAME)


async def _try(client: Client, name: str) -> Report | str | None:
    """A look; a server that is away for a while is no reason to end."""
    try:
        return await client.scope(name)
    except UnreachableError as error:
        return f"{error}; trying again"
