"""The arq worker fleet: lane loops around the engine.

`arq attend.workers.WorkerSettings` reads `ATTEND_` variables when the name is looked up; `run_worker` is what
`attend worker` calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attend.workers.process import run_worker

if TYPE_CHECKING:
    from attend.workers.settings import WorkerSettings

__all__ = ["WorkerSettings", "run_worker"]


def __getattr__(name: str) -> Any:
    if name != "WorkerSettings":
        raise AttributeError(f"module 'attend.workers' has no attribute {name!r}")
    # Only who runs arq by itself has its settings in the environment alone.
    from attend.workers.settings import WorkerSettings

    return WorkerSettings
