"""Why a scope's window has not settled, in a word and in a sentence."""

from __future__ import annotations

from enum import StrEnum

from attend.core.rules import Rules
from attend.core.settling import deadlines
from attend.core.state import ScopeState, Slot
from attend.core.types import Reason


class Status(StrEnum):
    """How things stand between a scope and its next verdict."""

    EMPTY = "empty"
    """Nothing is open, held or in judgement."""
    NO_ACT = "no_act"
    """What is open waits for an act."""
    OPEN = "open"
    """It settles at the first of the deadlines."""
    HELD = "held"
    """The judge said to wait: it is asked again with what comes next, at the latest at the horizon."""
    DUE = "due"
    """Its instant has come, and no worker yet."""
    JUDGING = "judging"
    """The judge is being asked."""
    RETRYING = "retrying"
    """The judge failed, or was lost, and is asked again later."""
    LOST = "lost"
    """Parts of what was stored are gone."""


def why(state: ScopeState, rules: Rules, now: int) -> tuple[Status, str]:
    """The status, and a sentence about it that names no instant: those stand in the deadlines."""
    if state.slot is not None:
        return _judging(state.slot, now)
    if state.again:
        return (
            Status.DUE,
            "a dead letter is retried and waits for a worker; if this lasts, no worker is running",
        )
    due = min(deadlines(state, rules), default=None, key=lambda deadline: deadline[0])
    if due is None:
        if state.open.is_empty:
            return Status.EMPTY, "nothing is open: it waits for events"
        return Status.NO_ACT, (
            f"{_count(len(state.open.events))} open and none an act: consequence and context events settle nothing "
            "by themselves, they wait for an act, a flush or an end"
        )
    at, reason = due
    if at <= now:
        return Status.DUE, f"it is due ({reason}) and waits for a worker; if this lasts, no worker is running"
    if reason is Reason.HORIZON:
        return (
            Status.HELD,
            "the judge said to wait: it is asked again with what settles next, or at the horizon",
        )
    return Status.OPEN, _WAITS_FOR[reason].format(rules=rules)


_WAITS_FOR = {
    Reason.CLOSING: "something closed: it settles once no closing event has come for {rules.closing_grace_ms} ms",
    Reason.CONTINUOUS: "something goes on: it settles once no continuous event has come for {rules.stream_gap_ms} ms",
    Reason.PASSIVE: "somebody looked: it settles once no passive event has come for {rules.passive_quiet_ms} ms",
    Reason.AGE: "it has waited long: it settles {rules.max_window_ms} ms after its first act, whatever comes",
    Reason.FLUSH: "it was addressed to the agent: it settles at once",
    Reason.FORCED: "somebody asked for a verdict: it settles at once",
    Reason.OVERFLOW: "it holds more than {rules.max_events} acts: it settles at once",
    Reason.SIZE: "it holds {rules.max_window_bytes} bytes: it settles at once",
}


def _judging(slot: Slot, now: int) -> tuple[Status, str]:
    attempt, count = slot.attempt, _count(len(slot.window.events))
    if attempt.leased_until is not None:
        if attempt.expired(now):
            return Status.DUE, "the worker that asked the judge is gone, and no other has taken its place yet"
        return Status.JUDGING, (
            f"the judge is being asked about {count}, start {attempt.starts}; what comes meanwhile waits in the next window"
        )
    if attempt.may_start(now):
        return Status.DUE, f"{count} wait for a worker to ask the judge; if this lasts, no worker is running"
    tries = [
        f"{number} {word}"
        for number, word in ((attempt.failures, "failed"), (attempt.losses, "lost"))
        if number
    ]
    return (
        Status.RETRYING,
        f"the judge is asked about {count} again later; calls so far: {' and '.join(tries) or 'none'}",
    )


def _count(number: int) -> str:
    return "1 event" if number == 1 else f"{number} events"
