"""Setups run one after the other on one recording, with judgments kept between them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from attend.configured import judge_of
from attend.replay.judgments import Judgments
from attend.replay.play import Played, play
from attend.replay.recording import Recording
from attend.settings import Settings


class Asking(Struct, frozen=True):
    """Where verdicts come from: a file of recorded ones alone, or the judge, recorded to a file or not.

    `judge_ms` is how long an answer takes in simulated time.
    """

    judgments: str | None = None
    record: str | None = None
    judge_ms: int = 0


async def run(
    recording: Recording, setups: Sequence[Settings], asking: Asking, recorded: Judgments | None = None
) -> list[Played]:
    """Play the recording under each of the setups; what `recorded` holds is not asked again.

    Raises `ConfigError`, before anything is played.
    """
    recorded = recorded or Judgments()
    try:
        if asking.judgments is not None:
            recorded.load(asking.judgments)
        alone = asking.judgments is not None and asking.record is None
        judges: list[Any] = [None if alone else judge_of(each, os.environ) for each in setups]
        if asking.record is not None:
            recorded.record(asking.record)
        try:
            return [
                await play(recording, each, judge, recorded, judge_ms=asking.judge_ms)
                for each, judge in zip(setups, judges, strict=True)
            ]
        finally:
            for judge in judges:
                if (close := getattr(judge, "aclose", None)) is not None:
                    await close()
    finally:
        recorded.close()
