"""What a step asks for. Effects are carried out only after the state they came with has committed.

The first group are calls to make, and each call's end comes back as an input. The second group is written by the
same commit as the state. The third tells observers.
"""

from __future__ import annotations

from msgspec import Struct

from attend.core.account import Account, Arrival
from attend.core.news import News
from attend.core.trace import Trace
from attend.core.types import Decision, Recent, Route, Stage, Window


class Judge(Struct, frozen=True):
    """Call the judge. `starts` counts this call; a `suspect` window lost its workers twice already."""

    window: Window
    token: int
    routes: tuple[Route, ...]
    recent: tuple[Recent, ...]
    starts: int
    leased_until: int
    suspect: bool


class Deliver(Struct, frozen=True):
    """Hand the decision with this id to the sink."""

    id: str
    token: int
    leased_until: int
    suspect: bool


class Bury(Struct, frozen=True):
    """Hand the dead letter about this window to the dead-letter handler."""

    id: str
    window: str
    stage: Stage
    message: str
    starts: int
    at: int
    token: int
    leased_until: int


class Log(Struct, frozen=True):
    """Write the decision's row, and its window with the account beside; `held` while an outbox refers to it."""

    decision: Decision
    held: bool
    account: Account


class Keep(Struct, frozen=True):
    """Write the window of a dead letter, which has no row."""

    window: Window


class Drop(Struct, frozen=True):
    """No lane refers to this window any more; `done` when it reached where it was going, as `arrival` says."""

    window: str
    done: bool
    arrival: Arrival | None = None


class Announce(Struct, frozen=True):
    """Write a piece of news to the attention feed, and open or resolve its condition."""

    news: News


Call = Judge | Deliver | Bury
Record = Log | Keep | Drop | Announce
Effect = Call | Record | Trace
