"""How long the log keeps decisions: by number and by age, whichever is less."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Retention(Struct, frozen=True):
    """At most `rows` decisions, and none older than `ms` milliseconds."""

    rows: int = 100_000
    ms: int = 30 * _UNITS_MS["d"]

    def __str__(self) -> str:
        """As `retention` reads it back."""
        return f"{self.rows},{self.ms}ms"


def retention(texts: Sequence[str]) -> Retention:
    """A number of decisions, an age such as `30d`, or both with a comma between; the other keeps its default.

    Raises `ValueError`.
    """
    found = {"rows": Retention().rows, "ms": Retention().ms}
    for part in texts[-1].split(","):
        match = re.fullmatch(r"([0-9]{1,12}) ?(ms|s|m|h|d)?", part.strip())
        if match is None or int(match[1]) == 0:
            raise ValueError(
                f"{part.strip()!r} is neither a number of decisions nor an age such as 12h or 30d"
            )
        unit = _UNITS_MS.get(match[2] or "")
        found["rows" if unit is None else "ms"] = int(match[1]) * (unit or 1)
    return Retention(**found)
