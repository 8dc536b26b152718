"""The tools that show why, and what if: what each takes, and how it is started."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attend.cli.flags import REMOTE
from attend.core.types import DELIVERED, Route
from attend.option import Option, integer, word
from attend.replay.setups import DECIDING

TRIES = ("replay", "tune", "explain")


def _routes(texts: Sequence[str]) -> frozenset[Route]:
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in set(DELIVERED)]
    if wrong or not names:
        known = ", ".join(sorted(DELIVERED))
        raise ValueError(
            "\n".join(f"{name!r} is no route of a decision; they are {known}" for name in wrong or [""])
        )
    return frozenset(Route(name) for name in names)


def _rate(texts: Sequence[str]) -> float:
    try:
        value = float(texts[-1])
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError(f"{texts[-1]!r} is not a number of 0 or more")
    return value


JUDGED = (
    Option("judgments", word, "a file of recorded judgments: nobody else is asked", "none"),
    Option("record", word, "a file to use judgments from, and to add to what is asked of the judge", "none"),
    Option("judge_ms", integer(0), "simulated milliseconds that a judge takes to answer", "0"),
    Option("svg", word, "a file to draw it to", "none"),
)
"""What both take beside the settings."""

REPLAY = (
    Option(
        "against",
        lambda texts: list(texts),
        "another setup to compare with: a .toml file, a file of ATTEND_ variables, or `key=value` of the settle table",
        "none",
    ),
    Option("labels", word, "a file of the ids that should have woken someone, one a line", "none"),
    Option("wakes", _routes, "the routes that count as a wake", "interrupt,queue,ask"),
    Option("show", integer(0), "decisions to show at most", "40"),
    *JUDGED,
)

TUNE = (Option("budget", _rate, "interruptions an hour at most", "6"), *JUDGED)


def add(tool: Callable[..., argparse.ArgumentParser]) -> None:
    """Add them, with a function that adds a tool."""
    replay = tool(
        "replay",
        "run recorded events in simulated time, and show what an agent would have heard",
        DECIDING,
        REPLAY,
    )
    tune = tool("tune", "find the act threshold that keeps interruptions within a budget", DECIDING, TUNE)
    for each in (replay, tune):
        each.add_argument(
            "file", metavar="FILE", help="NDJSON, one event a line, its `at` the time it came; - is stdin"
        )
        each.add_argument(
            "--config", action="append", metavar="FILE", help="a file of settings [ATTEND_CONFIG]"
        )
        each.add_argument("--json", action="store_true", help="as JSON")

    why = tool("explain", "show why a decision is what it is, and where it is by now", REMOTE, ())
    why.add_argument("id", metavar="ID", help="a decision's id, or a dead letter's")
    why.add_argument("--json", action="store_true", help="as JSON")


def run(command: str, given: Mapping[str, Any], flags: Mapping[str, Sequence[str]]) -> int:
    """Run one and return its exit code. Raises `ConfigError` with all that is wrong with its flags."""
    if command == "explain":
        from attend.cli.explain import run_explain

        return run_explain(given["id"], flags, as_json=given["json"])
    if command == "replay":
        from attend.cli.replay import run_replay

        return run_replay(given["file"], flags, as_json=given["json"])
    from attend.cli.tune import run_tune

    return run_tune(given["file"], flags, as_json=given["json"])
