"""The code that newcomers copy runs, and says what the README says it does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [code for language, code in BLOCKS if language == "sh"]


def run(code: str, folder: Path) -> str:
    """Run Python as a newcomer would, with warnings as errors; what it printed."""
    file = folder / "example.py"
    file.write_text(code, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(file)], capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def test_the_quickstart_says_what_is_printed_under_it(tmp_path: Path) -> None:
    expected = next(
        code for language, code in BLOCKS if language == "text" and code.startswith("[interrupt]")
    )
    assert run(PYTHON[0], tmp_path) == expected
    lines = [line for line in PYTHON[0].splitlines() if line.strip()]
    assert len(lines) <= 16


@pytest.mark.parametrize("code", PYTHON[1:])
def test_every_other_block_runs(code: str, tmp_path: Path) -> None:
    run(code, tmp_path)


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_every_example_runs_and_hears_something(name: str, tmp_path: Path) -> None:
    printed = run((ROOT / "examples" / name).read_text(encoding="utf-8"), tmp_path)
    assert "[interrupt]" in printed


def test_the_first_two_commands_stand_alone_on_their_lines() -> None:
    assert SHELL[0].strip().endswith("/attend demo")
    assert SHELL[1].strip().endswith("/pytest -n auto --dist loadfile")
    assert all(len(block.strip().splitlines()) == 1 for block in SHELL[:2])
