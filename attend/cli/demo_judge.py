"""The demo's judge: a few lines of rules in the place of a model, saying aloud what it is asked and answers."""

from __future__ import annotations

import json

from attend.core.types import Judgment, Reason, Route
from attend.judges.base import JudgeInput


async def judge(input: JudgeInput, /) -> Judgment:
    """Interrupt when someone speaks to the agent; hold a failed test back once; note the rest.

    Each call is a line of JSON on stdout, which is how the demo shows what goes on in the worker.
    """
    window = input.window
    failed = any(event.name == "test.failed" for event in window.events)
    if window.reason is Reason.FLUSH:
        route = Route.INTERRUPT
    elif failed and Route.WAIT in input.routes:
        route = Route.WAIT
    else:
        route = Route.NOTE
    said = {"settled": len(window.events), "reason": window.reason, "held": window.waits, "route": route}
    print(json.dumps(said), flush=True)
    return Judgment(route, judge="demo")
