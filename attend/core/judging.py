"""What a verdict does: a decision, a held window, or just a memory of it."""

from __future__ import annotations

from math import isfinite

from msgspec.structs import replace

from attend.core.account import Account, Asked, limit_of
from attend.core.attempt import Attempt, End
from attend.core.effect import Effect, Log
from attend.core.input import Failed
from attend.core.notice import notice_of
from attend.core.rules import OnJudgeDown, Rules
from attend.core.ruling import ruled
from attend.core.settling import offered
from attend.core.state import Held, Parcel, ScopeState, Slot
from attend.core.threshold import normalised, thresholded
from attend.core.trace import DecidedByRule, RouteThresholded, VerdictReached
from attend.core.types import Decision, Judgment, Lane, Recent, Route
from attend.core.work import Moved, fail


def misread(judgment: Judgment, routes: tuple[Route, ...]) -> str | None:
    """Why a judgment cannot be taken, or None. No route is ever guessed for it."""
    if judgment.route not in routes:
        return f"the judge answered {judgment.route[:100]!r}, offered were {', '.join(routes)}"
    for name, value in (judgment.probabilities or {}).items():
        # They are made to sum to 1 over what was offered, so how large they are together does not matter.
        if not (isfinite(value) and value >= 0):
            return f"the judge gave {value} as the probability of {name[:100]!r}, it must be 0 or more"
    shares = {f"predicate {name[:100]!r}": value for name, value in (judgment.predicates or {}).items()}
    if judgment.confidence is not None:
        shares["its confidence"] = judgment.confidence
    for name, value in shares.items():
        if not 0 <= value <= 1:
            return f"the judge gave {value} as {name}, it must be from 0 to 1"
    return None


def take_verdict(
    state: ScopeState, slot: Slot, judgment: Judgment, now: int, rules: Rules, asked: Asked | None = None
) -> Moved:
    """The slot freed by a verdict. One that cannot be read is a failure of the call."""
    wrong = misread(judgment, offered(slot))
    if wrong is not None:
        return judge_failed(state, slot, Failed(Lane.SETTLE, slot.window.id, 0, wrong), now, rules)
    return _decide(state, slot, judgment, now, rules, asked)


def judge_failed(state: ScopeState, slot: Slot, failed: Failed, now: int, rules: Rules) -> Moved:
    """A judge call failed: it waits for the ladder's next rung, is decided by rule, or is given up on."""
    if rules.on_judge_down is OnJudgeDown.RULE and _is_down(slot, failed, rules):
        trace = DecidedByRule(state.scope, slot.window.id, failed.message, slot.attempt.starts)
        past = slot.attempt.and_then(now, End.FAILED, failed.message)
        slot = replace(slot, attempt=replace(slot.attempt, past=past))
        state, effects = _decide(state, slot, ruled(slot.window.reason), now, rules, None, degraded=True)
        return state, (trace, *effects)
    return fail(
        state,
        Lane.SETTLE,
        failed.message,
        now,
        rules,
        permanent=failed.permanent,
        retry_after_ms=failed.retry_after_ms,
    )


def _is_down(slot: Slot, failed: Failed, rules: Rules) -> bool:
    if failed.permanent:
        return failed.down
    left = rules.retry_backoff_ms[slot.attempt.failures :]
    # Who asks for more time than all the tries that are left would take is down for them all.
    return not left or failed.retry_after_ms > sum(left)


def _decide(
    state: ScopeState,
    slot: Slot,
    judgment: Judgment,
    now: int,
    rules: Rules,
    asked: Asked | None,
    *,
    degraded: bool = False,
) -> Moved:
    routes, window = offered(slot), slot.window
    probabilities = normalised(judgment.probabilities, routes)
    answered = Route(judgment.route)
    route = thresholded(answered, probabilities, routes, rules.act_threshold)
    effects: list[Effect] = [VerdictReached(state.scope, window.id, route, slot.attempt.starts)]
    if route is not answered:
        effects.append(RouteThresholded(state.scope, window.id, answered, route))
    recent = (*state.recent, Recent(now, route, window.reason, len(window.events), window.id))
    state = replace(state, slot=None, recent=recent[max(0, len(recent) - rules.recent_count) :])
    if route is Route.WAIT:
        past = slot.attempt.and_then(now, End.WAIT)
        held = Held(replace(window, waits=window.waits + 1), now + rules.wait_horizon_ms, past)
        return replace(state, held=held), tuple(effects)
    if not route.is_delivered:
        return state, tuple(effects)
    decision = Decision(
        id=window.id,
        scope=state.scope,
        route=route,
        reason=window.reason,
        decided_at=now,
        notice=notice_of(window, route),
        event_ids=window.event_ids,
        dropped=window.dropped,
        gap=window.gap,
        waits=window.waits,
        starts=slot.attempt.starts,
        confidence=judgment.confidence,
        probabilities=probabilities,
        predicates=judgment.predicates,
        changed_from=None if route is answered else answered,
        judge=judgment.judge,
        degraded=degraded,
        window=window,
    )
    account = Account(
        offered=routes,
        threshold=rules.act_threshold,
        limit=limit_of(window.reason, rules),
        failures=slot.attempt.failures,
        losses=slot.attempt.losses,
        past=slot.attempt.past,
        asked=asked,
    )
    effects.append(Log(decision, rules.sink, account))
    if rules.sink:
        parcel = Parcel(decision.id, decision.event_ids, Attempt(now))
        state = replace(state, outbox=(*state.outbox, parcel))
    return state, tuple(effects)
