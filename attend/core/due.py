"""When each lane next has something to do for a scope."""

from __future__ import annotations

from attend.core.rules import Rules
from attend.core.settling import deadlines
from attend.core.state import Due, ScopeState


def due_at(state: ScopeState, rules: Rules) -> Due:
    """One instant a lane, or None. While the judge slot is taken, settling waits for it and nothing else."""
    if state.slot is not None:
        settle: int | None = state.slot.attempt.next_at
    else:
        retried = [state.again[0].due_at] if state.again else []
        settle = min((*retried, *(at for at, _ in deadlines(state, rules))), default=None)
    return Due(
        settle=settle,
        deliver=state.outbox[0].attempt.next_at if rules.sink and state.outbox else None,
        bury=state.dead[0].attempt.next_at if rules.dead_letter and state.dead else None,
    )
