"""A judge that says what a test wrote down for it, and a sink that remembers what it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from attend.core.types import Decision, Judgment
from attend.errors import PermanentError
from attend.judges.base import JudgeInput


class Fail(Struct, frozen=True):
    """An answer that is none: the judge raises. A permanent one is not tried again."""

    message: str
    permanent: bool = False
    retry_after_ms: int | None = None


class Hang(Struct, frozen=True):
    """An answer that never comes."""


hang = Hang()
"""The judge never answers: its call ends by its timeout."""

Answer = Judgment | str | Mapping[str, Any] | Fail | Hang
"""What a scripted judge can be told to do: a `Judgment`, a route's name, a mapping, `fail(...)`, `permanent(...)`
or `hang`. A mapping has the fields of a `Judgment`, or is `{"fail": message, "permanent"?: True}` or
`{"hang": True}`."""


class ScriptedError(Exception):
    """What a scripted judge or a recording sink raises when it was told to fail."""

    def __init__(self, message: str, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


def fail(message: str = "told to fail", *, retry_after_ms: int | None = None) -> Fail:
    """The judge raises, and is asked again after the next rung or `retry_after_ms`, whichever is longer."""
    return Fail(message, False, retry_after_ms)


def permanent(message: str = "told to fail for good") -> Fail:
    """The judge raises a `PermanentError`: the window becomes a dead letter at once."""
    return Fail(message, True)


class ScriptedJudge:
    """Answers in order and repeats its last answer; `calls` has every input it was given."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        if not answers:
            raise ValueError("a scripted judge needs one answer at least")
        self._answers = [_read(answer) for answer in answers]
        self.calls: list[JudgeInput] = []

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The next answer."""
        answer = self._answers[min(len(self.calls), len(self._answers) - 1)]
        self.calls.append(input)
        if isinstance(answer, Hang):
            never: asyncio.Future[Judgment] = asyncio.get_running_loop().create_future()
            return await never
        if isinstance(answer, Fail):
            if answer.permanent:
                raise PermanentError(answer.message)
            raise ScriptedError(answer.message, answer.retry_after_ms)
        return answer


def scripted_judge(answers: Sequence[Answer] | Answer = ("queue",)) -> ScriptedJudge:
    """A judge that gives these answers in order and repeats the last; one answer may be given by itself.

    Raises `ValueError` for no answers, or one that cannot be read.
    """
    if isinstance(answers, (str, Mapping)) or not isinstance(answers, Sequence):
        return ScriptedJudge([answers])
    return ScriptedJudge(answers)


def _read(answer: Answer) -> Judgment | Fail | Hang:
    if isinstance(answer, str):
        return Judgment(answer)
    if not isinstance(answer, Mapping):
        return answer
    kind: type[Judgment | Fail | Hang] = Judgment
    fields = dict(answer)
    if "fail" in fields:
        kind, fields["message"] = Fail, fields.pop("fail")
    elif "hang" in fields:
        kind = Hang
        del fields["hang"]
    if unknown := fields.keys() - set(kind.__struct_fields__):
        raise ValueError(f"an answer has no {', '.join(map(repr, sorted(unknown)))}: {dict(answer)!r}")
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"an answer cannot be read: {error}: {dict(answer)!r}") from error


class RecordingSink:
    """Takes decisions down: `attempts` has every call, `delivered` those that it took."""

    def __init__(self) -> None:
        self.attempts: list[Decision] = []
        self.delivered: list[Decision] = []
        self._failures = 0

    def fail_next(self, n: int = 1) -> None:
        """Raise at the next `n` deliveries."""
        self._failures = n

    async def deliver(self, decision: Decision) -> None:
        """Take a decision down, or raise when told to."""
        self.attempts.append(decision)
        if self._failures:
            self._failures -= 1
            raise ScriptedError("told to fail")
        self.delivered.append(decision)


def recording_sink() -> RecordingSink:
    """A sink that remembers what it was given."""
    return RecordingSink()
