"""The tools that wake an agent: what each takes on the command line, and how it is started."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from attend import option
from attend.cli.flags import REMOTE, TAIL
from attend.option import Option

HEARS = ("channel", "watch")

CHANNEL = (
    Option(
        "state", option.word, "file of what was seen, so that a restart goes on there", "in the data folder"
    ),
    Option(
        "again_ms",
        option.integer(1000),
        "how long until a message that was not seen comes up again",
        "300000",
    ),
    Option("again_times", option.integer(0), "how often it does", "3"),
)
WATCH = (
    *(each for each in TAIL if each.name in ("scope", "scope_prefix", "route", "min_confidence")),
    Option("per_minute", option.integer(1, 600), "lines a minute at most", "20"),
)


def add(tool: Callable[..., argparse.ArgumentParser]) -> None:
    """Add them, with a function that adds a tool."""
    tool("channel", "a channel of Claude Code: push what needs attention into a session", REMOTE, CHANNEL)
    tool("watch", "one short line a decision, for a monitor that reads lines", REMOTE, WATCH)


def run(command: str, flags: dict[str, list[str]]) -> int:
    """Run one and return its exit code. Raises `ConfigError` with all that is wrong with its flags."""
    if command == "channel":
        from attend.cli.channel import run_channel

        return run_channel(flags)
    from attend.cli.watch import run_watch

    return run_watch(flags)
