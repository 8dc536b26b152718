"""Core stands alone: it works where nothing but msgspec is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ALONE = """
    import importlib, pkgutil, sys

    class Only:
        '''Finds nothing outside the standard library, msgspec and attend.'''

        allowed = sys.stdlib_module_names | {"msgspec", "attend"}

        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] not in self.allowed:
                raise ModuleNotFoundError(f"{name} is not to be had", name=name)
            return None

    sys.meta_path.insert(0, Only())
    for name in ("redis", "litestar", "arq", "mcp", "httpx", "uvicorn", "rich"):
        assert name not in sys.modules, name
    import attend.core

    for module in pkgutil.iter_modules(attend.core.__path__, "attend.core."):
        importlib.import_module(module.name)
    ours = {name for name in sys.modules if name.startswith("attend")}
    above = {name for name in ours if not name.startswith("attend.core")} - {"attend", "attend.errors"}
    assert not above, above
"""


def test_core_imports_nothing_but_the_standard_library_msgspec_and_errors() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ALONE)],
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


BLOCKER = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"redis", "litestar", "arq", "mcp"}:
                raise ModuleNotFoundError(f"{name} is not to be had", name=name)
            return None

    sys.meta_path.insert(0, Blocker())
"""


def test_the_tests_of_core_run_where_none_of_the_adapters_libraries_is_installed(tmp_path: Path) -> None:
    (tmp_path / "blocker.py").write_text(textwrap.dedent(BLOCKER), encoding="utf-8")
    here = Path(__file__).parent
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "blocker",
            "-p",
            "pytest_timeout",
            str(here),
            "--collect-only",
        ],
        cwd=here.parent.parent,
        # Other libraries' pytest plugins are kept out: fakeredis has one, and it needs redis.
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
