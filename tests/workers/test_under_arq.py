"""arq's own command with settings that cannot be used."""

from __future__ import annotations

import os
import subprocess

from tests.workers.crew import ARQ


def test_what_is_wrong_with_its_settings_is_a_line_each() -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
    ran = subprocess.run(ARQ, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("attend: ATTEND_STORE: ")
    assert ran.stderr.count("\n") == 1
