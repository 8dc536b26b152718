"""What observers are told of a scope's life. Nothing here is needed to carry on: it may be lost."""

from __future__ import annotations

from msgspec import Struct

from attend.core.types import Lane, Reason, Route, Stage


class EventsDropped(Struct, frozen=True, tag=True):
    """Non-acts were shed from the open or merged window: too old for the act, too many, or too big."""

    scope: str
    count: int
    why: str


class WindowSettled(Struct, frozen=True, tag=True):
    """A window settled and goes to the judge; `merged` when a held one went along."""

    scope: str
    window: str
    reason: Reason
    events: int
    merged: bool


class VerdictReached(Struct, frozen=True, tag=True):
    """A judge's verdict was taken."""

    scope: str
    window: str
    route: Route
    starts: int


class RouteThresholded(Struct, frozen=True, tag=True):
    """The act threshold changed the judge's route before the decision was logged."""

    scope: str
    window: str
    judged: Route
    route: Route


class DecidedByRule(Struct, frozen=True, tag=True):
    """The judge is down, as `message` says, so the window was decided without it."""

    scope: str
    window: str
    message: str
    starts: int


class CallRetried(Struct, frozen=True, tag=True):
    """A call will be made again at `due_at`, after a failure or (`lost`) after its worker went away."""

    scope: str
    lane: Lane
    id: str
    message: str
    due_at: int
    lost: bool


class DecisionDelivered(Struct, frozen=True, tag=True):
    """A sink took a decision."""

    scope: str
    decision: str


class DeadLettered(Struct, frozen=True, tag=True):
    """A window became a dead letter."""

    scope: str
    letter: str
    stage: Stage
    message: str
    starts: int


class DeadLetterTaken(Struct, frozen=True, tag=True):
    """The handler took a dead letter."""

    scope: str
    letter: str


class DeadLetterRetried(Struct, frozen=True, tag=True):
    """Someone had a dead letter tried again: it is on its way to the stage that gave up on it."""

    scope: str
    letter: str
    stage: Stage


class DeadLetterDropped(Struct, frozen=True, tag=True):
    """Someone gave up on a dead letter: nothing refers to its window any more."""

    scope: str
    letter: str


class StaleRefused(Struct, frozen=True, tag=True):
    """The end of a call came back with a token that is no longer the current one, and was refused."""

    scope: str
    lane: Lane
    id: str


Trace = (
    EventsDropped
    | WindowSettled
    | VerdictReached
    | RouteThresholded
    | DecidedByRule
    | CallRetried
    | DecisionDelivered
    | DeadLettered
    | DeadLetterTaken
    | DeadLetterRetried
    | DeadLetterDropped
    | StaleRefused
)
