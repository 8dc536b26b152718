"""`python -m loadtest`: measure attend's figures on this machine."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from loadtest.report import REACH, Figure, machine, show, write_json
from loadtest.run import FULL, QUICK, Effort, measure


def main() -> None:
    """Read the command line, measure, show and keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m loadtest", description="measure attend on this machine")
    parser.add_argument("--quick", action="store_true", help="under a minute; without it, several")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--only", action="append", choices=list(REACH), metavar="FIGURE", help=", ".join(REACH)
    )
    given = parser.parse_args()
    names: list[str] = given.only or list(REACH)
    console = Console(width=None if sys.stdout.isatty() else 110)
    measured_on = machine()
    began = time.monotonic()
    figures = asyncio.run(_run(QUICK if given.quick else FULL, names))
    show(figures, console)
    console.print(f"{time.monotonic() - began:.0f} s; load when it began {measured_on['load']}")
    if given.json is not None:
        write_json(given.json, figures, measured_on)


async def _run(effort: Effort, names: Collection[str]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    async for name, figure in measure(effort, names):
        print(f"{name} ...", file=sys.stderr)
        figures[name] = figure
    return figures


if __name__ == "__main__":
    main()
