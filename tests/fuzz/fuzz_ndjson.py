"""A fuzzer of the reader of lines, guided by what of it was run: `python -m tests.fuzz.fuzz_ndjson [FOLDER] [-flags]`.

FOLDER keeps what it found worth trying, from run to run; the flags are libFuzzer's, such as `-max_total_time=600`.
It needs atheris. What it finds is written to a file, and is a test of `tests/fuzz/fate.py` from then on.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

# Where it is not installed, both checkers read this all the same.
atheris: Any = import_module("atheris")

with atheris.instrument_imports(include=["attend.api", "attend.core.event"]):
    from tests.fuzz.fate import SEEDS, check, check_cut


def one(data: bytes) -> None:
    """One body, whole and in pieces."""
    check(data)
    if data:
        check_cut(data, [data[0] % (len(data) + 1), data[-1] % (len(data) + 1)])


def main() -> None:
    """Fuzz until told otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(SEEDS):
            (Path(folder) / str(number)).write_bytes(seed)
        atheris.Setup([*sys.argv, folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
