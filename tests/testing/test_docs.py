"""What docs/testing.md says runs as it stands, on a machine without Redis and its client."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "testing.md"

CONFTEST = """
import sys

for name in ("redis", "hiredis", "arq", "fakeredis"):
    sys.modules[name] = None

import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


def test_the_docs_own_tests_pass_without_redis(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "anyio",
        "-p",
        "attend.testing.plugin",
    ]
    ran = subprocess.run(
        [*command, "."],
        cwd=tmp_path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
