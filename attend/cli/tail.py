"""`attend tail`: decisions as they come, for people to read, or as a line of JSON each."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from attend.cli.flags import TAIL, read
from attend.cli.remote import client_of
from attend.cli.screen import complain, console, count, one_line, safe, stamp
from attend.client import START, Client, Occurrence
from attend.errors import AnswerError, ConfigError, UnreachableError

STYLES = {"interrupt": "bold red", "queue": "yellow", "note": "cyan", "ask": "magenta"}


def run_tail(given: Mapping[str, Sequence[str]], *, as_json: bool, follow: bool = True) -> int:
    """Show decisions until stopped, and return the exit code: 0, or 3 where the server could not be reached.

    Without `follow` it ends with what is kept.
    """
    values, _ = read(TAIL, given, {})
    if "since" in values and "from" in values:
        raise ConfigError("--from and --since: both say where to begin; give one of them")
    if values.get("from") == "now" and not follow:
        raise ConfigError("--from and --no-follow: nothing is kept after now; leave one of them out")
    client = client_of(given, os.environ)
    try:
        return asyncio.run(_tail(client, values, as_json=as_json, follow=follow))
    except KeyboardInterrupt:
        return 0


async def _tail(client: Client, values: Mapping[str, Any], *, as_json: bool, follow: bool) -> int:
    begin = values.get("from", "now" if follow and "since" not in values else "start")
    oldest = int(time.time() * 1000) - values["since"] if "since" in values else 0
    decisions = client.decisions(
        {"now": None, "start": START}.get(begin, begin),
        scope=values.get("scope"),
        scope_prefix=values.get("scope_prefix"),
        routes=values.get("route"),
        min_confidence=values.get("min_confidence"),
        follow=follow,
        say=complain,
    )
    left = values.get("count")
    show = _show_json if as_json else _show
    try:
        async with client, aclosing(aiter(decisions)) as found:
            async for occurrence in found:
                if int(occurrence.data.get("decidedAt") or 0) < oldest:
                    continue
                show(occurrence)
                left = None if left is None else left - 1
                if left == 0:
                    return 0
    except UnreachableError as error:
        complain(str(error))
        return 3
    except AnswerError as error:
        complain(f"the server turned it down: {error}")
        return 2
    return 0


def _show_json(occurrence: Occurrence) -> None:
    sys.stdout.write(msgspec.json.encode(occurrence).decode() + "\n")
    sys.stdout.flush()


def _show(occurrence: Occurrence) -> None:
    """The route, the scope and what led to it on one line, then what the agent is told, indented."""
    out, data = console(), occurrence.data
    route = str(data.get("route", ""))
    said = [str(data.get("reason", "")), count(int(data.get("eventCount") or 0), "event")]
    if data.get("confidence") is not None:
        said.append(f"confidence {data['confidence']:.2f}")
    if data.get("dropped"):
        said.append(f"{data['dropped']} dropped")
    if data.get("gap"):
        said.append("with a gap before it")
    from rich.text import Text

    out.print(
        Text.assemble(
            (stamp(int(data.get("decidedAt") or 0)), "dim"),
            "  ",
            (f"{one_line(route):<9}", STYLES.get(route, "")),
            "  ",
            (one_line(str(data.get("scope", ""))), "bold"),
            "  ",
            (f"({one_line(', '.join(said))})", "dim"),
        )
    )
    for line in safe(str(data.get("notice") or "")).split("\n"):
        out.print("    " + line)
    sys.stdout.flush()
