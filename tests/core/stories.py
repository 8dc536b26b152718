"""A small language for table tests: a story is lines of (instant, input), and what each led to, as words.

`tell` applies the lines in turn and gives back one short line of text per effect, `"500 judge closing a b"`, so
that a test reads as a story. On the way it checks what must hold for every input of every story: the codec
changes nothing, and an input applied again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from attend.core import codec, effect, trace
from attend.core.due import due_at
from attend.core.effect import Effect
from attend.core.input import Delivered, Failed, Flushed, Input, Judged, Lost, Pushed, Released, Ticked
from attend.core.rules import Rules
from attend.core.state import Due, ScopeState
from attend.core.step import Reply, Settling, Taken, step
from attend.core.types import Event, Judgment, Kind, Lane, Route, window_id

SCOPE = "repo"
RULES = Rules(sink=True, dead_letter=True)
Spoken = Input | Callable[[ScopeState], Input]
Line = tuple[int, Spoken]

SHORT = {"log": Kind.CONSEQUENCE, "own": Kind.CONTEXT}
SETTLE = Ticked(Lane.SETTLE)
DELIVER = Ticked(Lane.DELIVER)
BURY = Ticked(Lane.BURY)


class Told(Struct):
    """What a story led to: effects and traces as words, replies in order, the last state and its due."""

    state: ScopeState
    effects: list[str]
    traces: list[str]
    replies: list[Reply]
    raw: list[Effect]
    due: Due


def fresh(rules: Rules = RULES, scope: str = SCOPE) -> ScopeState:
    """A scope that nothing has happened to."""
    return ScopeState(scope=scope, generation=1, digest=rules.digest)


def event(word: str, *, at: int = 0, data: bytes = b"{}", text: str | None = None) -> Event:
    """One event out of `kind:id`; `log` and `own` are short for `consequence` and `context`."""
    kind, _, id = word.partition(":")
    known = SHORT.get(kind) or Kind(kind)
    return Event(id=id, name=f"{kind}.event", kind=known, at=at, data_json=data, text=text)


def push(words: str, *, at: int = 0) -> Pushed:
    """Events out of words: `push("log:a closing:b")`."""
    return Pushed(tuple(event(word, at=at) for word in words.split()))


def judged(route: str, probabilities: dict[str, float] | None = None) -> Callable[[ScopeState], Input]:
    """The judge answered the call that is current."""

    def said(state: ScopeState) -> Input:
        assert state.slot is not None, "nothing is in judgement"
        return Judged(state.slot.window.id, state.slot.attempt.token, Judgment(route, probabilities))

    return said


def holder(state: ScopeState, lane: Lane) -> tuple[str, int]:
    """The id and token of a lane's current call."""
    match lane:
        case Lane.SETTLE:
            assert state.slot is not None, "nothing is in judgement"
            return state.slot.window.id, state.slot.attempt.token
        case Lane.DELIVER:
            return state.outbox[0].id, state.outbox[0].attempt.token
        case Lane.BURY:
            return state.dead[0].id, state.dead[0].attempt.token
        case _ as never:
            assert_never(never)


def failed(
    message: str = "boom",
    lane: Lane = Lane.SETTLE,
    *,
    permanent: bool = False,
    retry_after_ms: int = 0,
    down: bool = False,
) -> Callable[[ScopeState], Input]:
    """The lane's current call raised."""

    def said(state: ScopeState) -> Input:
        id, token = holder(state, lane)
        return Failed(lane, id, token, message, permanent, retry_after_ms, down)

    return said


def lost(lane: Lane = Lane.SETTLE) -> Callable[[ScopeState], Input]:
    """The process that made the lane's current call was seen to die."""
    return lambda state: Lost(lane, *holder(state, lane))


def released(lane: Lane = Lane.SETTLE) -> Callable[[ScopeState], Input]:
    """The worker that made the lane's current call hands it back."""
    return lambda state: Released(lane, *holder(state, lane))


def delivered(state: ScopeState) -> Input:
    """The sink took the head of the outbox."""
    return Delivered(Lane.DELIVER, state.outbox[0].id)


def buried(state: ScopeState) -> Input:
    """The handler took the head of the dead letters."""
    return Delivered(Lane.BURY, state.dead[0].id)


def tell(*lines: Line, rules: Rules = RULES, state: ScopeState | None = None) -> Told:
    """Apply the lines in turn, from a fresh scope or from `state`."""
    told = Told(state or fresh(rules), [], [], [], [], Due())
    names: dict[str, str] = {}
    for now, spoken in lines:
        said = spoken(told.state) if callable(spoken) else spoken
        before = codec.decode_state(codec.encode(told.state))
        assert before == told.state
        done = step(before, said, now, rules)
        _again_changes_nothing(done.state, said, now, rules, done.reply)
        told.state = done.state
        told.due = due_at(done.state, rules)
        if done.reply is not None:
            told.replies.append(done.reply)
        for one in done.effects:
            told.raw.append(one)
            where = told.traces if isinstance(one, trace.Trace) else told.effects
            where.append(f"{now} {words_of(one, names)}")
    return told


def _again_changes_nothing(
    state: ScopeState, said: Input, now: int, rules: Rules, reply: Reply | None
) -> None:
    twice = step(state, said, now, rules)
    assert twice.state == state, f"{said} changed the state when it was applied again"
    assert all(isinstance(one, trace.StaleRefused) for one in twice.effects), twice.effects
    if isinstance(reply, Settling):
        assert twice.reply == reply
    if isinstance(reply, Taken) and isinstance(twice.reply, Taken):
        assert twice.reply.accepted == 0


def words_of(one: Effect, names: dict[str, str]) -> str:
    """An effect as a short line. `names` remembers what each window id stands for."""
    match one:
        case effect.Judge():
            names[one.window.id] = " ".join(one.window.event_ids)
            words = ["judge", one.window.reason, names[one.window.id]]
            words += [] if Route.WAIT in one.routes else ["(no wait)"]
            words += [f"(start {one.starts})"] if one.starts > 1 else []
            words += ["(suspect)"] if one.suspect else []
            words += [f"(dropped {one.window.dropped})"] if one.window.dropped else []
            words += ["(gap)"] if one.window.gap else []
            return " ".join(words)
        case effect.Log():
            names[one.decision.id] = " ".join(one.decision.event_ids)
            return " ".join(
                ["log", one.decision.route, names[one.decision.id]]
                + ["(held)"] * one.held
                + ["(degraded)"] * one.decision.degraded
            )
        case effect.Deliver():
            return f"deliver {names.get(one.id, one.id)}" + (" (suspect)" if one.suspect else "")
        case effect.Bury():
            return f"bury {one.stage} {names.get(one.window, one.window)}: {one.message}"
        case effect.Keep():
            return f"keep {names.get(one.window.id, one.window.id)}"
        case effect.Drop():
            return f"drop {names.get(one.window, one.window)}" + (" (done)" if one.done else "")
        case effect.Announce():
            return f"news {one.news.code} of {one.news.subject or one.news.event}"
        case trace.EventsDropped():
            return f"dropped {one.count} {one.why}"
        case trace.WindowSettled():
            return f"settled {one.reason} {one.events}" + (" (merged)" if one.merged else "")
        case trace.VerdictReached():
            return f"verdict {one.route}"
        case trace.RouteThresholded():
            return f"thresholded {one.judged} to {one.route}"
        case trace.DecidedByRule():
            return f"by rule after {one.starts}: {one.message}"
        case trace.CallRetried():
            return f"retry {one.lane} at {one.due_at}: {one.message}" + (" (lost)" if one.lost else "")
        case trace.DecisionDelivered():
            return f"delivered {names.get(one.decision, one.decision)}"
        case trace.DeadLettered():
            return f"dead {one.stage} after {one.starts}: {one.message}"
        case trace.DeadLetterTaken():
            return "letter taken"
        case trace.DeadLetterRetried():
            return f"letter retried ({one.stage})"
        case trace.DeadLetterDropped():
            return "letter dropped"
        case trace.StaleRefused():
            return f"stale {one.lane}"
        case _ as never:
            assert_never(never)


def decided(ids: str, scope: str = SCOPE) -> str:
    """The id of the decision about these events."""
    return window_id(scope, ids.split())


def with_rules(**changes: object) -> Rules:
    """The rules of the stories, with some of them changed."""
    return replace(RULES, **changes)


def flushed(id: str = "f1") -> Flushed:
    """A flush request."""
    return Flushed(id)


def decide(at: int, id: str, route: str = "queue") -> list[Line]:
    """A window of one flush event, decided at once."""
    return [(at, push(f"flush:{id}")), (at, SETTLE), (at, judged(route))]


def dead(at: int, id: str) -> list[Line]:
    """A window of one flush event whose judge refuses for good."""
    return [(at, push(f"flush:{id}")), (at, SETTLE), (at, failed("no", permanent=True))]


def lane_of(effects: list[str], *verbs: str) -> list[str]:
    """The effects that start with one of these verbs."""
    return [line for line in effects if line.split()[1] in verbs]
