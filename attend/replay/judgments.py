"""Judgments in a file: recorded as they are made, and given again without asking anybody."""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from attend.core.types import Judgment
from attend.errors import ConfigError, PermanentError
from attend.judges.base import Judge, JudgeInput
from attend.judges.budget import Budget, budget_of
from attend.replay.setups import DECIDING
from attend.settings import Settings
from attend.testing.clock import FakeClock


class Recorded(Struct, frozen=True, omit_defaults=True):
    """A line of the file: what was judged, how, and how many milliseconds that took.

    `asked` names who was asked, and what beside the events: the routes on offer, guidance and predicates.
    """

    window: str
    waits: int
    asked: str
    judgment: Judgment
    ms: int = 0


class Judgments:
    """Judgments by what was judged. With a file to `record` to, those that are new are added to it as they come."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], Recorded] = {}
        self._file: TextIO | None = None

    def load(self, path: str) -> None:
        """Read a file of judgments. Raises `ConfigError`."""
        try:
            lines = Path(path).expanduser().read_bytes().splitlines()
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; give a file of recorded judgments") from None
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found = msgspec.json.decode(line, type=Recorded)
            except msgspec.MsgspecError as error:
                raise ConfigError(f"{path}: line {number} is no recorded judgment: {error}") from None
            self._known[found.window, found.waits, found.asked] = found

    def record(self, path: str) -> None:
        """Add what is new to a file, once what it holds is loaded. Raises `ConfigError`."""
        file = Path(path).expanduser()
        if file.exists():
            self.load(path)
        try:
            self._file = file.open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; give --record a file that can be written") from None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def find(self, who: str, input: JudgeInput) -> Recorded | None:
        """What was recorded of this question to this judge, if anything."""
        return self._known.get((input.window.id, input.window.waits, _asked(who, input)))

    def add(self, who: str, input: JudgeInput, judgment: Judgment, ms: int) -> None:
        """Take a judgment down."""
        found = Recorded(input.window.id, input.window.waits, _asked(who, input), judgment, ms)
        self._known[found.window, found.waits, found.asked] = found
        if self._file is not None:
            self._file.write(msgspec.json.encode(found).decode() + "\n")
            self._file.flush()


def who_of(settings: Settings) -> str:
    """A name for the judge that settings describe: two of one name answer alike."""
    told = {
        each.name: getattr(settings, each.name)
        for each in DECIDING
        if each.name.startswith("judge") and not each.secret
    }
    return msgspec.json.encode([told, settings.criteria], order="sorted").decode()


def _asked(who: str, input: JudgeInput) -> str:
    told: list[Any] = [
        who,
        input.routes,
        input.window.reason,
        input.guidance,
        sorted(input.predicates.items()),
    ]
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:12]


class Bench:
    """The judge of a replay: gives what was recorded, asks the real one else, and counts.

    Time stands still while the real one is asked, for at most `timeout_ms` on the machine's clock; then `judge_ms`
    of simulated time pass. Without a real one, a window that was not recorded is an error for good. `judgments` has
    every answer, in order.
    """

    def __init__(
        self,
        clock: FakeClock,
        who: str,
        judge: Judge | None,
        recorded: Judgments,
        *,
        timeout_ms: int,
        judge_ms: int = 0,
    ) -> None:
        self._clock = clock
        self._who = who
        self._judge = judge
        self._recorded = recorded
        self._timeout_ms = timeout_ms
        self._judge_ms = judge_ms
        self.asked = 0
        self.replayed = 0
        self.judgments: list[Judgment] = []

    @property
    def budget(self) -> Budget | None:
        """The real judge's, so that windows are as large as they would be."""
        return budget_of(self._judge)

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """A verdict."""
        known = self._recorded.find(self._who, input)
        if known is not None:
            self.replayed += 1
            judgment = known.judgment
        else:
            judgment = await self._ask(input)
        if self._judge_ms:
            await self._clock.sleep(self._judge_ms)
        self.judgments.append(judgment)
        return judgment

    async def _ask(self, input: JudgeInput) -> Judgment:
        if self._judge is None:
            raise PermanentError("no judgment of this window by this judge was recorded")
        began = time.monotonic()
        with self._clock.hold():
            async with asyncio.timeout(self._timeout_ms / 1000):
                judgment = await self._judge(input)
        self.asked += 1
        if isinstance(judgment, Judgment):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._recorded.add(self._who, input, judgment, int((time.monotonic() - began) * 1000))
        return judgment
