"""A judge that writes down when it was called, and a sink that hangs: for `--judge` and `--sink`.

`LOADTEST_CALLS` names the file that a line is added to for each call: `judged <scope> <now> <accepted at>`, the
instants in milliseconds and the second one that of the window's last event, `delivered <scope> <now> <accepted at>
<id of that event>`, or `hanging <scope>`.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time

from attend import Decision, Judgment, rule
from attend.judges.base import JudgeInput

HANGING = "hang/"
"""Decisions about scopes that begin with this are never delivered."""


@functools.cache
def _calls() -> int:
    return os.open(os.environ["LOADTEST_CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


async def judge(input: JudgeInput, /) -> Judgment:
    """What `rule` says."""
    now = time.time() * 1000
    os.write(_calls(), f"judged {input.scope} {now:.2f} {input.window.events[-1].accepted_at}\n".encode())
    return await rule(input)


async def deliver(decision: Decision) -> None:
    """Take a decision, or hang."""
    if decision.scope.startswith(HANGING):
        os.write(_calls(), f"hanging {decision.scope}\n".encode())
        await asyncio.Event().wait()
    now, event = time.time() * 1000, decision.window.events[-1]
    os.write(_calls(), f"delivered {decision.scope} {now:.2f} {event.accepted_at} {event.id}\n".encode())


async def nowhere(decision: Decision) -> None:
    """The sink of a process that runs no lanes: never called."""
