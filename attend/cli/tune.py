"""`attend tune FILE`: the act threshold that keeps interruptions within a budget, by a replay of recorded events."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from attend.cli.flags import read
from attend.cli.replay import about, asking_of, described, write
from attend.cli.screen import complain, count, rate
from attend.cli.tries import TUNE
from attend.core.threshold import ACTING
from attend.replay.chart import terminal_chart, threshold_chart
from attend.replay.judgments import Judgments
from attend.replay.labels import per_hour
from attend.replay.play import Played
from attend.replay.recording import Recording, load
from attend.replay.run import run
from attend.replay.setups import this
from attend.testing.threshold import Suggestion, p_act, suggest_threshold

DEFAULT_BUDGET = 6.0


def run_tune(file: str, flags: Mapping[str, Sequence[str]], *, as_json: bool) -> int:
    """Tune and return the exit code: 1 where no threshold fits, or none would change anything.

    Raises `ConfigError` with all that is wrong with the command line.
    """
    values, _ = read(TUNE, flags, {})
    budget: float = values.get("budget", DEFAULT_BUDGET)
    # Judgments are taken as the judge gives them: it is the threshold that is looked for.
    settings = replace(this(flags, os.environ), act_threshold=None)
    recording = load(file)
    asking, recorded = asking_of(values), Judgments()
    [played] = asyncio.run(run(recording, [settings], asking, recorded))
    ranked = sum(p_act(each) is not None for each in played.judgments)
    found = suggest_threshold(played.judgments, duration_ms=recording.duration_ms, max_acts_per_hour=budget)
    check = None
    if ranked and found.threshold is not None:
        tried = replace(settings, act_threshold=found.threshold)
        [check] = asyncio.run(run(recording, [tried], asking, recorded))
    if "svg" in values:
        write(values["svg"], threshold_chart(found, budget))
    if as_json:
        told = _json(file, recording, played, found, ranked, check)
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    else:
        for line in _lines(recording, played, found, budget, ranked, check):
            print(line)
    if not ranked:
        complain(
            "no judgment has probabilities, so no threshold would change one; try a judge that gives them"
        )
    return 0 if ranked and found.threshold is not None else 1


def _lines(
    recording: Recording,
    played: Played,
    found: Suggestion,
    budget: float,
    ranked: int,
    check: Played | None,
) -> Iterator[str]:
    yield from about(recording)
    yield (
        f"{count(len(played.judgments), 'judgment')}, {ranked} with probabilities; "
        f"{played.asked} asked, {played.replayed} known already"
    )
    if not ranked:
        return
    yield ""
    yield "  threshold, and acts (interrupt or ask) an hour under it; | is the budget"
    yield from terminal_chart(found, budget)
    yield ""
    if found.threshold is None:
        yield f"no threshold keeps acts within {budget:g} an hour"
        return
    at = next(one for one in found.candidates if one.threshold == found.threshold)
    # Rounded up: a threshold below the share would let that one act, too.
    shown = -(-round(found.threshold * 1e12) // 10**8) / 1e4
    yield f"act_threshold {min(1.0, shown):g}: {count(at.acts, 'act')}, {rate(at.acts_per_hour)} an hour (budget {budget:g})"
    if check is not None:
        acts = _acts(check)
        often = per_hour(acts, recording.duration_ms)
        yield f"replayed with it: {count(acts, 'act')}, {rate(often)} an hour"


def _acts(played: Played) -> int:
    return sum(decision.route in ACTING for decision in played.decisions)


def _json(
    file: str, recording: Recording, played: Played, found: Suggestion, ranked: int, check: Played | None
) -> dict[str, Any]:
    return {
        "recording": described(file, recording),
        "threshold": found.threshold if ranked else None,
        "candidates": [
            {"threshold": one.threshold, "acts": one.acts, "actsPerHour": one.acts_per_hour}
            for one in found.candidates
        ],
        "judgments": len(played.judgments),
        "ranked": ranked,
        "asked": played.asked,
        "replayed": played.replayed,
        "actsReplayed": None if check is None else _acts(check),
    }
