"""What the processes say: lines on stderr in one plain form."""

from __future__ import annotations

import logging
import sys
import time

_log = logging.getLogger("attend")


def configure() -> None:
    """Send every log record to stderr as `<time> <level> <process> <logger>: <message>`, times in UTC."""
    form = logging.Formatter(
        "%(asctime)s.%(msecs)03dZ %(levelname)s %(process)d %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    form.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(form)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _log.setLevel(logging.INFO)


def say(message: str) -> None:
    """Log what the command itself has to say."""
    _log.info("%s", message)


def warn(message: str) -> None:
    """Log what the command itself had to put right, or could not."""
    _log.warning("%s", message)
