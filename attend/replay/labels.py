"""How well a setup woke, by the ids of the events that should have woken someone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from attend.core.types import Route, Summary
from attend.errors import ConfigError
from attend.replay.recording import Recording
from attend.testing.threshold import HOUR_MS

WAKES = frozenset({Route.INTERRUPT, Route.QUEUE, Route.ASK})
"""The routes that make somebody do something: the agent now or next, or the user who is asked. A note does not."""


class Label(Struct, frozen=True):
    """An event that should have woken someone; without a scope any event of this id."""

    id: str
    scope: str | None = None


class Score(Struct, frozen=True, rename="camel"):
    """Precision, recall and how often somebody is woken.

    `labels` counts the labelled events, `unknown` labels that no event of the recording has. `heard` are labelled
    events in a decision that wakes, `missed` the ids of the others. `right` are wakes with a labelled event in them.
    Precision and recall are None where there is nothing to take a share of.
    """

    labels: int
    unknown: int
    heard: int
    missed: tuple[str, ...]
    wakes: int
    right: int
    precision: float | None
    recall: float | None
    wakes_per_hour: float


def load_labels(path: str) -> list[Label]:
    """Read labels: a line each, `{"id": ..., "scope"?: ...}` or the id as it is. Raises `ConfigError`."""
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path}: {why}; give a file of ids, one a line") from None
    labels: list[Label] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not text.startswith("{"):
            labels.append(Label(text))
            continue
        try:
            labels.append(msgspec.json.decode(text, type=Label))
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{path}: line {number} is no label: {error}") from None
    if not labels:
        raise ConfigError(f"{path}: it holds no labels")
    return labels


def labelled(labels: Iterable[Label], recording: Recording) -> tuple[frozenset[tuple[str, str]], int]:
    """The events of a recording that have a label, and how many labels no event has."""
    scopes: dict[str, set[str]] = {}
    for scope, id in recording.ids:
        scopes.setdefault(id, set()).add(scope)
    found: set[tuple[str, str]] = set()
    unknown = 0
    for label in labels:
        meant = scopes.get(label.id, set())
        if label.scope is not None:
            meant = meant & {label.scope}
        found |= {(scope, label.id) for scope in meant}
        unknown += not meant
    return frozenset(found), unknown


def score(
    decisions: Iterable[Summary],
    labels: Collection[tuple[str, str]],
    *,
    duration_ms: int,
    unknown: int = 0,
    routes: Collection[Route] = WAKES,
) -> Score:
    """What decisions come to by labels; a decision wakes where its route is one of `routes`."""
    wanted = set(labels)
    heard: set[tuple[str, str]] = set()
    wakes = right = 0
    for decision in decisions:
        if decision.route not in routes:
            continue
        wakes += 1
        about = wanted & {(decision.scope, id) for id in decision.event_ids}
        right += bool(about)
        heard |= about
    return Score(
        labels=len(wanted),
        unknown=unknown,
        heard=len(heard),
        missed=tuple(sorted(id for _, id in wanted - heard)),
        wakes=wakes,
        right=right,
        precision=right / wakes if wakes else None,
        recall=len(heard) / len(wanted) if wanted else None,
        wakes_per_hour=per_hour(wakes, duration_ms),
    )


def per_hour(count: int, duration_ms: int) -> float:
    """A rate."""
    return count * HOUR_MS / duration_ms
