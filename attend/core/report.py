"""A scope as somebody who looks in wants to see it: what is there, every deadline, and why it has not settled.

Struct fields are camelCase as JSON. What an event says is left out but for the start of its text: this is about
the scope, and the events behind a decision have a tool of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from attend.core.attempt import Attempt
from attend.core.due import due_at
from attend.core.opening import full_lane
from attend.core.rules import Rules
from attend.core.settling import deadlines, offered
from attend.core.state import Due, ScopeState
from attend.core.types import Event, Kind, Reason, Recent, Route, Stage, Window
from attend.core.why import Status, why

LISTED = 50
"""How many events, parcels or letters a list here holds at most; the counts beside it are of all."""

TEXT = 200
"""How many characters of an event's text are shown."""


class Trying(StrEnum):
    """How a piece of work stands."""

    RUNNING = "running"
    """Somebody has it in hand, until `until`."""
    LOST = "lost"
    """Its lease ran out at `until`: whoever had it is taken to be gone."""
    WAITING = "waiting"
    """It starts at `until`."""
    DUE = "due"
    """It could have started at `until`: no worker has come for it yet."""


class Deadline(Struct, frozen=True, rename="camel"):
    """An instant at which what is open and held settles, unless something comes first."""

    reason: Reason
    at: int


class EventLine(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event in short."""

    id: str
    name: str
    kind: Kind
    at: int
    accepted_at: int
    text: str | None = None


class Work(Struct, frozen=True, rename="camel"):
    """A piece of work: how it stands, until when, which start this is or will be, and what went wrong before."""

    status: Trying
    until: int
    starts: int
    failures: int
    losses: int
    suspect: bool


class OpenReport(Struct, frozen=True, rename="camel"):
    """The window that events join; `events` are the newest of it, oldest first."""

    event_count: int
    acts: int
    bytes: int
    dropped: int
    gap: bool
    first_act_at: int | None
    events: list[EventLine]


class WindowReport(Struct, frozen=True, rename="camel"):
    """A settled window, by the id its decision has or would have."""

    window_id: str
    event_count: int
    bytes: int
    reason: Reason
    settled_at: int
    waits: int
    dropped: int
    gap: bool


class HeldReport(WindowReport, frozen=True, rename="camel", kw_only=True):
    """A window whose verdict was `wait`; at `horizon_at` it is judged by itself."""

    horizon_at: int


class JudgingReport(WindowReport, frozen=True, rename="camel", kw_only=True):
    """The window in judgement, and the routes its judge may answer."""

    routes: tuple[Route, ...]
    work: Work


class ParcelReport(Struct, frozen=True, rename="camel"):
    """A decision in the outbox. Only the first has work going on; the others wait for it."""

    decision_id: str
    event_count: int
    work: Work


class LetterReport(Struct, frozen=True, rename="camel"):
    """A dead letter. `work` is None where there is no handler: it is kept until there is one."""

    id: str
    window_id: str
    event_count: int
    stage: Stage
    message: str
    starts: int
    at: int
    work: Work | None


class OutboxReport(Struct, frozen=True, rename="camel"):
    """The outbox: the oldest of it, how many there are and may be. Without a sink nothing joins it."""

    count: int
    limit: int
    sink: bool
    decisions: list[ParcelReport]


class LettersReport(Struct, frozen=True, rename="camel"):
    """The dead-letter lane: the oldest of it, how many there are and may be."""

    count: int
    limit: int
    handler: bool
    letters: list[LetterReport]


class VerdictReport(Struct, frozen=True, rename="camel"):
    """A verdict of late."""

    at: int
    route: Route
    reason: Reason
    event_count: int
    window_id: str


class Report(Struct, frozen=True, rename="camel", kw_only=True):
    """One scope at the instant `now`, in the fleet's time as all instants here.

    `status` and `why` say why nothing has settled. `deadlines` are in order; while a window is in judgement they
    wait for it. `retried` are dead windows on their way back to the judge. `due` is when each lane next has something to do. `full` names a lane that is at its cap, so that
    the scope takes no events. `changed_at` is the latest instant applied.
    """

    scope: str
    now: int
    changed_at: int
    status: Status
    why: str
    deadlines: list[Deadline]
    open: OpenReport
    held: HeldReport | None
    judging: JudgingReport | None
    retried: list[WindowReport]
    outbox: OutboxReport
    dead_letters: LettersReport
    recent: list[VerdictReport]
    cursors: dict[str, str]
    due: Due
    full: str | None
    remembered_ids: int


def report(state: ScopeState, rules: Rules, now: int, *, lost: bool = False) -> Report:
    """What there is to say of a state. `lost` for one whose stored parts do not fit together."""
    now = max(now, state.now)
    status, text = (Status.LOST, LOST) if lost else why(state, rules, now)
    return Report(
        scope=state.scope,
        now=now,
        changed_at=state.now,
        status=status,
        why=text,
        deadlines=[Deadline(reason, at) for at, reason in sorted(deadlines(state, rules), key=_first)],
        open=_open(state),
        held=_held(state),
        judging=_judging(state, now),
        retried=[WindowReport(**_window(each.window)) for each in state.again[:LISTED]],  # type: ignore[arg-type]
        outbox=OutboxReport(
            len(state.outbox),
            rules.max_outbox,
            rules.sink,
            [
                ParcelReport(parcel.id, len(parcel.event_ids), _work(parcel.attempt, now))
                for parcel in state.outbox[:LISTED]
            ],
        ),
        dead_letters=_letters(state, rules, now),
        recent=[_verdict(recent) for recent in state.recent],
        cursors=state.cursors,
        due=due_at(state, rules),
        full=full_lane(state, rules),
        remembered_ids=len(state.seen),
    )


LOST = "parts of what was stored of this scope are gone; with the next event it starts again, empty and marked with a gap"


def _first(deadline: tuple[int, Reason]) -> int:
    return deadline[0]


def _open(state: ScopeState) -> OpenReport:
    window = state.open
    return OpenReport(
        event_count=len(window.events),
        acts=window.acts,
        bytes=window.size,
        dropped=window.dropped,
        gap=window.gap,
        first_act_at=window.first_act_at,
        events=list(_lines(window.events[-LISTED:])),
    )


def _lines(events: Iterable[Event]) -> Iterable[EventLine]:
    for event in events:
        text = event.text
        if text is not None and len(text) > TEXT:
            text = text[: TEXT - 1] + "…"
        yield EventLine(event.id, event.name, event.kind, event.at, event.accepted_at, text)


def _window(window: Window) -> dict[str, object]:
    return {
        "window_id": window.id,
        "event_count": len(window.events),
        "bytes": window.size,
        "reason": window.reason,
        "settled_at": window.settled_at,
        "waits": window.waits,
        "dropped": window.dropped,
        "gap": window.gap,
    }


def _held(state: ScopeState) -> HeldReport | None:
    held = state.held
    return None if held is None else HeldReport(**_window(held.window), horizon_at=held.horizon_at)  # type: ignore[arg-type]


def _judging(state: ScopeState, now: int) -> JudgingReport | None:
    slot = state.slot
    if slot is None:
        return None
    return JudgingReport(**_window(slot.window), routes=offered(slot), work=_work(slot.attempt, now))  # type: ignore[arg-type]


def _letters(state: ScopeState, rules: Rules, now: int) -> LettersReport:
    letters = [
        LetterReport(
            id=dead.id,
            window_id=dead.window,
            event_count=len(dead.event_ids),
            stage=dead.stage,
            message=dead.message,
            starts=dead.starts,
            at=dead.at,
            work=_work(dead.attempt, now) if rules.dead_letter else None,
        )
        for dead in state.dead[:LISTED]
    ]
    return LettersReport(len(state.dead), rules.max_dead_letters, rules.dead_letter, letters)


def _verdict(recent: Recent) -> VerdictReport:
    return VerdictReport(recent.at, recent.route, recent.reason, recent.events, recent.window)


def _work(attempt: Attempt, now: int) -> Work:
    if attempt.leased_until is not None:
        status = Trying.LOST if attempt.expired(now) else Trying.RUNNING
    else:
        status = Trying.DUE if attempt.may_start(now) else Trying.WAITING
    return Work(status, attempt.next_at, attempt.starts, attempt.failures, attempt.losses, attempt.suspect)
