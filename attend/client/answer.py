"""What a server's answers say: how long to wait, and what was wrong."""

from __future__ import annotations

import random

import httpx
import msgspec
from msgspec import Struct

from attend.errors import AnswerError

LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0


class Problem(Struct, rename="camel"):
    """The body of an answer that turns a request away."""

    error: str = ""
    message: str = ""
    retry_after_ms: int | None = None


def problem_of(answer: httpx.Response) -> Problem:
    """What an answer's body says; without one of attend's, its first words."""
    try:
        return msgspec.json.decode(answer.content, type=Problem)
    except msgspec.MsgspecError:
        return Problem("", answer.text.strip()[:200] or answer.reason_phrase)


def retry_after(answer: httpx.Response, problem: Problem) -> float | None:
    """How many seconds the answer asks to wait, if it does."""
    if problem.retry_after_ms is not None:
        return problem.retry_after_ms / 1000
    header = answer.headers.get("retry-after", "")
    return float(header) if header.isdigit() else None


def refused(answer: httpx.Response) -> AnswerError:
    """The error that an answer other than 200 stands for."""
    problem = problem_of(answer)
    code = f" {problem.error}" if problem.error else ""
    return AnswerError(answer.status_code, problem.error, f"{answer.status_code}{code}: {problem.message}")


def trouble_of(error: httpx.HTTPError, where: str) -> str:
    """In words what kept a request from being answered."""
    if isinstance(error, httpx.TimeoutException):
        return f"{where} did not answer in time"
    if isinstance(error, httpx.ConnectError):
        return f"nothing answers at {where}; is attend serve running there?"
    return f"the connection to {where} broke: {str(error) or type(error).__name__}"


class Backoff:
    """Pauses that double from 1 s to 30 s, each between half of that and all of it."""

    def __init__(self, first: float = FIRST_PAUSE) -> None:
        self._first = first
        self._next = first

    def reset(self) -> None:
        """All is well: the next pause is the first."""
        self._next = self._first

    def pause(self) -> float:
        """How many seconds to wait now."""
        pause, self._next = self._next, min(self._next * 2, LONGEST_PAUSE)
        return pause * random.uniform(0.5, 1)
