"""The arq worker fleet: lane loops around the engine.

`arq attend.workers.WorkerSettings` reads `ATTEND_` variables when the name is looked up; `run_worker` is what
`attend worker` calls.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attend.errors import ConfigError
from attend.workers.process import run_worker

if TYPE_CHECKING:
    from attend.workers.settings import WorkerSettings

__all__ = ["WorkerSettings", "run_worker"]


def __getattr__(name: str) -> Any:
    if name != "WorkerSettings":
        raise AttributeError(f"module 'attend.workers' has no attribute {name!r}")
    # Only who runs arq by itself has its settings in the environment alone.
    try:
        from attend.workers.settings import WorkerSettings
    except ConfigError as error:
        program = Path(sys.argv[0])
        if "arq" not in (program.stem, program.parent.name):
            raise
        # arq's own command would show how its import failed, of which the last line alone is of use.
        for problem in error.problems:
            print(f"attend: {problem}", file=sys.stderr)
        raise SystemExit(2) from None
    return WorkerSettings
