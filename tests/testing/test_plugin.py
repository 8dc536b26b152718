"""The pytest plugin, in a pytest of its own: a user's test, which needs nothing but what the docs say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

USERS_TEST = """
import sys
import pytest

pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"

def test_nothing_heavy_is_loaded_at_startup():
    assert not {"attend.app", "redis", "litestar", "mcp", "arq"} & set(sys.modules)

async def test_the_agent_hears_of_a_failed_deploy(attend_trial):
    async with attend_trial(["interrupt"], kind={"deploy.*": "closing"}) as t:
        await t.push("shop", {"id": "1", "name": "deploy.failed", "text": "deploy 7 failed"})
        assert t.sink.delivered == []
        await t.advance(500)
        [decision] = t.sink.delivered
        assert decision.route == "interrupt"
        assert decision.notice.startswith("deploy 7 failed")
    assert "redis" not in sys.modules

async def test_parts_by_themselves(fake_clock, recording_sink, attend_trial):
    async with attend_trial(sink=recording_sink, kind={"x": "flush"}) as t:
        assert t.clock is fake_clock
        await t.push("s", {"name": "x"})
    assert len(recording_sink.delivered) == 1
"""


def test_a_users_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(USERS_TEST)
    ran = subprocess.run(
        [
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
            ".",
        ],
        cwd=tmp_path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout
