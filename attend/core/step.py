"""The one transition: `step` applies one input to one scope's state."""

from __future__ import annotations

from msgspec import Struct

from attend.core.effect import Effect
from attend.core.input import Input
from attend.core.rules import Rules
from attend.core.state import ScopeState


class Taken(Struct, frozen=True):
    """What became of a push. Positions count the pushed events from 0.

    `duplicates` holds the positions known already, `conflicts` those among them whose content differs from the
    first, `refused` those that met a full lane, which `full` then names.
    """

    accepted: int
    duplicates: tuple[int, ...] = ()
    conflicts: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    full: str | None = None


class Settling(Struct, frozen=True):
    """What a flush or an end found: whether there was anything to settle."""

    settled: bool


Reply = Taken | Settling


class Step(Struct, frozen=True):
    """What one input led to. `reply` answers a push, a flush or an end, and is None for the others."""

    state: ScopeState
    effects: tuple[Effect, ...] = ()
    reply: Reply | None = None


def step(state: ScopeState, input: Input, now: int, rules: Rules) -> Step:
    raise NotImplementedError
