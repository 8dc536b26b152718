"""What is kept of a window, put together as handlers and people get it."""

from __future__ import annotations

from typing import Any

from attend.core import codec
from attend.core.notice import notice_of
from attend.core.types import DeadLetter, Decision, Reason, Stage, Summary, Window
from attend.store.base import StoredWindow


def decision_of(stored: StoredWindow) -> Decision | None:
    """The decision about a window, or None where there is none. Raises `StateFormatError`."""
    if stored.summary is None:
        return None
    row = codec.decode_summary(stored.summary)
    window = codec.decode_window(stored.window)
    fields: dict[str, Any] = {name: getattr(row, name) for name in Summary.__struct_fields__}
    # A row's notice is cut to a bound, a sink gets all of it.
    fields["notice"] = notice_of(window, row.route)
    return Decision(**fields, window=window)


def letter_of(
    scope: str, id: str, stage: Stage, message: str, starts: int, at: int, stored: StoredWindow | None
) -> DeadLetter:
    """A dead letter with its window; where that is gone, with an empty one that says so by its `gap`.

    Raises `StateFormatError`.
    """
    gone = Window(scope, (), Reason.FORCED, at, gap=True)
    return DeadLetter(
        id=id,
        scope=scope,
        stage=stage,
        message=message,
        starts=starts,
        at=at,
        window=gone if stored is None else codec.decode_window(stored.window),
        decision=None if stored is None else decision_of(stored),
    )
