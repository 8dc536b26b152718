"""A child process that ends when the `attend serve` that started it is gone, even when that was killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping

VARIABLE = "_ATTEND_PARENT"
"""The process id of the serve process, in the environment of its children."""

_PR_SET_PDEATHSIG = 1


def follow(environ: Mapping[str, str], grace: float) -> None:
    """Where a parent is named, end with it: SIGTERM to this process at once, and an exit `grace` seconds after.

    On Linux the system sends the signal; elsewhere a thread looks once a second.
    """
    text = environ.get(VARIABLE, "")
    if not text.isdigit():
        return
    parent = int(text)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent, grace), name="parent", daemon=True).start()


def _watch(parent: int, grace: float) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)
