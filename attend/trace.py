"""What observers are told: core's traces of a scope's life, and those of the I/O around it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from attend.core import trace as core

logger = logging.getLogger("attend")


class CommitConflicted(Struct, frozen=True, tag=True):
    """Another writer committed the scope first; its inputs are applied again to what is stored now."""

    scope: str
    attempt: int


class ScopeLost(Struct, frozen=True, tag=True):
    """The scope's stored parts did not fit together: it started empty, with its next window marked `gap`."""

    scope: str


class CaptureFailed(Struct, frozen=True, tag=True):
    """`capture` or `context` (`what`) raised or took too long; the judge is called without it."""

    scope: str
    what: str
    message: str


class EventRefused(Struct, frozen=True, tag=True):
    """A source handed over an event that cannot be taken; its neighbours were."""

    scope: str
    source: str
    code: str
    message: str


class SourceFailed(Struct, frozen=True, tag=True):
    """A source raised; it is run again from its committed cursor after `retry_ms`."""

    scope: str
    source: str
    message: str
    retry_ms: int


class StoreLost(Struct, frozen=True, tag=True):
    """The store stopped answering, or stopped taking writes."""

    message: str


class StoreBack(Struct, frozen=True, tag=True):
    """The store answers again, after `lost_ms`."""

    lost_ms: int


Trace = (
    core.Trace
    | CommitConflicted
    | ScopeLost
    | CaptureFailed
    | EventRefused
    | SourceFailed
    | StoreLost
    | StoreBack
)

Observer = Callable[[Trace], None]
"""Told of every trace, after the commit it belongs to. What it raises is logged and goes no further."""

_WARNINGS = (ScopeLost, StoreLost, SourceFailed, core.DeadLettered, core.DecidedByRule)

_SENTENCES: dict[type[Trace], str] = {
    ScopeLost: "what was stored of a scope did not fit together, it starts empty",
    StoreLost: "the store does not answer",
    StoreBack: "the store answers again",
    SourceFailed: "a source failed, it is run again",
    core.DeadLettered: "a dead letter: no judge or sink could take it, see attend dead",
    core.DecidedByRule: "the judge is down, a window was decided by rule",
}


def log_traces(trace: Trace) -> None:
    """An observer that writes traces to the `attend` logger, as a sentence and `key=value` pairs.

    What needs a look is a warning, that the store is back is told, the rest is for debugging. A trace names scopes
    and ids; it never holds an event's content.
    """
    level = logging.WARNING if isinstance(trace, _WARNINGS) else logging.DEBUG
    logger.log(logging.INFO if isinstance(trace, StoreBack) else level, "%s", _Said(trace))


class _Said:
    """A trace in words, once somebody wants to read it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __str__(self) -> str:
        name = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(self._trace).__name__).lower()
        pairs = [f"{key}={_shown(value)}" for key, value in msgspec.structs.asdict(self._trace).items()]
        return f"{_SENTENCES.get(type(self._trace), name)}: {' '.join(pairs)}"


def _shown(value: object) -> str:
    text = str(value)
    if re.fullmatch(r"[^\s\"=]+", text) and text.isprintable():
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def guarded(observe: Observer | None) -> Observer:
    """The observer, with what it raises logged; one that does nothing for None."""
    if observe is None:
        return _ignore

    def told(trace: Trace) -> None:
        try:
            observe(trace)
        except Exception:
            logger.exception("the observer raised")

    return told


def _ignore(trace: Trace) -> None:
    del trace
