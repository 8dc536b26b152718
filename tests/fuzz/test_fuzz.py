"""The fuzzer runs for a moment, where it is installed; by hand it runs for as long as one likes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
def test_twenty_seconds_of_fuzzing_find_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "tests.fuzz.fuzz_ndjson", str(tmp_path)),
            *("-max_total_time=20", "-max_len=2000", "-timeout=20", f"-artifact_prefix={tmp_path}/found-"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    done = re.search(r"Done (\d+) runs", ran.stderr)
    assert done is not None, ran.stderr[-4000:]
    assert int(done[1]) > 100
    covered = [int(count) for count in re.findall(r"cov: (\d+)", ran.stderr)]
    assert covered[-1] > 100, "it does not see what is run"
