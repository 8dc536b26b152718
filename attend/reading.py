"""One read of the decision log: what its reader wants, what it may see, and what came of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from msgspec import Struct

from attend.core.codec import decode_summary
from attend.core.types import Route, Summary
from attend.errors import StateFormatError
from attend.seal import Seal
from attend.store.base import LogRow, Position

logger = logging.getLogger(__name__)

MOST_SCANNED = 5000
"""Rows looked at in one read that the reader may see: past them it returns, with `more`, however few it wanted."""


class Filter(Struct, frozen=True):
    """Which decisions a reader wants. What is left None lets everything through.

    `min_confidence` hides a decision whose judge gave no confidence: nothing says that it is enough. `visible` is
    not the reader's wish but its right: the scope prefixes it may see.
    """

    scope: str | None = None
    scope_prefix: str | None = None
    routes: frozenset[Route] | None = None
    min_confidence: float | None = None
    visible: tuple[str, ...] | None = None

    def lets(self, decision: Summary) -> bool:
        """Whether the reader gets this decision."""
        if self.scope is not None and decision.scope != self.scope:
            return False
        if self.scope_prefix is not None and not decision.scope.startswith(self.scope_prefix):
            return False
        if self.routes is not None and decision.route not in self.routes:
            return False
        if self.min_confidence is not None and (
            decision.confidence is None or decision.confidence < self.min_confidence
        ):
            return False
        return self.sees(decision)

    def sees(self, decision: Summary) -> bool:
        """Whether the reader may know of this decision."""
        return self.visible is None or decision.scope.startswith(self.visible)


class Batch(Struct, frozen=True):
    """What one read gave.

    `cursors[i]` is the place after `decisions[i]`, `start` the place before the first and `cursor` the one to read
    on from, which has moved past rows that the filter hid. `truncated` when decisions after the place asked for
    are gone, or nothing is known of that place: reading began at the oldest that is kept. `more` when there are
    rows that this read did not get to, and the reader may see one of them.
    """

    decisions: tuple[Summary, ...]
    cursors: tuple[str, ...]
    start: str
    cursor: str
    truncated: bool
    more: bool


class Seen(Struct, frozen=True):
    """A row, decoded once for everyone. A decision of None cannot be read, and is passed by."""

    position: Position
    decision: Summary | None
    size: int


class Reading(Struct):
    """A read on its way."""

    filter: Filter
    limit: int
    since: int
    start: Position
    place: Position
    truncated: bool = False
    more: bool = False
    full: bool = False
    scanned: int = 0
    found: list[Seen] = []

    def take(self, rows: Sequence[Seen], more: bool) -> None:
        """Look at rows. What the reader may not see is passed by as if it were not there: it ends no read."""
        for row in rows:
            if row.decision is None or not self.filter.sees(row.decision):
                self.place = row.position
                continue
            if len(self.found) == self.limit or self.scanned == MOST_SCANNED:
                self.more = self.full = True
                return
            self.place = row.position
            self.scanned += 1
            if self.filter.lets(row.decision):
                if row.decision.decided_at < self.since:
                    self.truncated = True
                else:
                    self.found.append(row)
        self.more = more

    def batch(self, seal: Seal) -> Batch:
        """What the read came to."""
        unlike = self.filter.visible is not None
        return Batch(
            tuple(row.decision for row in self.found if row.decision is not None),
            tuple(seal.close(row.position, unlike=unlike) for row in self.found),
            seal.close(self.start, unlike=unlike),
            seal.close(self.place, unlike=unlike),
            self.truncated,
            self.more,
        )


def seen(row: LogRow) -> Seen:
    """A row of the log, decoded."""
    try:
        return Seen(row.position, decode_summary(row.summary), len(row.summary))
    except StateFormatError as error:
        logger.error("row %d of the log is passed by: %s", row.position.n, error)
        return Seen(row.position, None, 0)
