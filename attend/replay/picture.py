"""A timeline of what an agent would have heard, as SVG."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from attend.api.ndjson import Command
from attend.core.types import Route, Summary
from attend.replay.drawing import FAINT, PAPER, clean, svg, text
from attend.replay.recording import Recording

COLOURS = {
    Route.INTERRUPT: "#d1242f",
    Route.ASK: "#bf8700",
    Route.QUEUE: "#0969da",
    Route.NOTE: "#6e7781",
}
WIDTH, LEFT, RIGHT, ROW, TOP = 1200, 190, 24, 18, 64
MOST_ROWS = 60
"""Scopes that get a row of their own in a timeline; the others share the last one."""

_STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 10_800, 21_600, 43_200)
_DAYS = (1, 2, 7, 14, 30, 91, 365, 3650)


def timeline(
    recording: Recording,
    setups: Sequence[tuple[str, Sequence[Summary]]],
    labels: Collection[tuple[str, str]] = (),
) -> str:
    """One band of rows a setup: each scope's events as ticks, its decisions as dots, labelled events in red below.

    A labelled event that no decision of a setup has is a hollow mark there.
    """
    events = _events(recording)
    busiest = sorted(events, key=lambda scope: -_weight(scope, setups, len(events[scope])))
    rows = sorted(busiest[:MOST_ROWS]), sorted(busiest[MOST_ROWS:])
    count = len(rows[0]) + bool(rows[1])
    band = TOP + count * ROW + 40
    span = _Span(recording.began_at, recording.ended_at)
    parts = [
        part
        for place, each in enumerate(setups)
        for part in _band(span, place * band, each, rows, events, labels)
    ]
    return svg(WIDTH, band * len(setups), parts)


class _Span:
    """Instants to places on the page."""

    def __init__(self, began_at: int, ended_at: int) -> None:
        self.began_at = began_at
        self.ms = max(1, ended_at - began_at)

    def x(self, at: int) -> float:
        share = min(1.0, max(0.0, (at - self.began_at) / self.ms))
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Places of round instants, with what to write there."""
        steps = [step * 1000 for step in _STEPS_S] + [days * 86_400_000 for days in _DAYS]
        step = next((each for each in steps if self.ms / each <= 8), steps[-1])
        form = "%Y-%m-%d" if step >= 86_400_000 else "%m-%d %H:%M" if self.ms > 86_400_000 else "%H:%M:%S"
        at = -(-self.began_at // step) * step
        while at <= self.began_at + self.ms:
            yield self.x(at), f"{datetime.fromtimestamp(at / 1000, UTC):{form}}"
            at += step


def _events(recording: Recording) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for moment in recording.moments:
        for scope, given in moment.pushes:
            if not isinstance(given, Command):
                found.setdefault(scope, []).extend((moment.at, event.id or "") for event in given)
    return found


def _weight(scope: str, setups: Sequence[tuple[str, Sequence[Summary]]], events: int) -> float:
    decisions = sum(decision.scope == scope for _, decisions in setups for decision in decisions)
    return decisions * 1000 + events


def _band(
    span: _Span,
    top: int,
    setup: tuple[str, Sequence[Summary]],
    rows: tuple[list[str], list[str]],
    events: dict[str, list[tuple[int, str]]],
    labels: Collection[tuple[str, str]],
) -> Iterator[str]:
    title, decisions = setup
    place = {scope: row for row, scope in enumerate(rows[0])}
    last = len(rows[0])
    names = [*rows[0], *([f"{len(rows[1])} more scopes"] if rows[1] else [])]
    heard = {(decision.scope, id) for decision in decisions for id in decision.event_ids}
    bottom = top + TOP + len(names) * ROW
    yield text(LEFT, top + 22, title, size=15, weight="600")
    yield from _legend(top + 42, bool(labels))
    for x, words in span.ticks():
        yield f'<line x1="{x}" y1="{top + TOP - 8}" x2="{x}" y2="{bottom}" stroke="{FAINT}" stroke-width="0.5"/>'
        yield text(x, bottom + 16, words, size=10, anchor="middle")
    for row, name in enumerate(names):
        y = top + TOP + row * ROW + ROW / 2
        yield f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="{FAINT}"/>'
        yield text(LEFT - 8, y + 4, name if len(name) <= 26 else name[:25] + "…", size=11, anchor="end")
    ticks: set[tuple[float, float]] = set()
    marks: set[tuple[float, float, bool]] = set()
    for scope, found in events.items():
        y = top + TOP + place.get(scope, last) * ROW + ROW / 2
        for at, id in found:
            ticks.add((round(span.x(at)), y))
            if (scope, id) in labels:
                marks.add((span.x(at), y, (scope, id) in heard))
    yield (
        f'<path d="{"".join(f"M{x} {y - 3}v6" for x, y in sorted(ticks))}" stroke="#8c959f" stroke-width="1"/>'
    )
    for decision in decisions:
        x, y = span.x(decision.decided_at), top + TOP + place.get(decision.scope, last) * ROW + ROW / 2
        words = f"{decision.route} · {decision.reason} · {len(decision.event_ids)} event{'' if len(decision.event_ids) == 1 else 's'}\n{decision.notice[:300]}"
        yield (
            f'<circle cx="{x}" cy="{y}" r="4" fill="{COLOURS[decision.route]}" fill-opacity="0.75">'
            f"<title>{clean(words)}</title></circle>"
        )
    for x, y, was_heard in sorted(marks):
        fill = COLOURS[Route.INTERRUPT] if was_heard else PAPER
        yield (
            f'<path d="M{x} {y + 4}l3 5h-6z" fill="{fill}" stroke="{COLOURS[Route.INTERRUPT]}" stroke-width="0.8"/>'
        )


def _legend(y: float, labels: bool) -> Iterator[str]:
    x = float(LEFT)
    for route, colour in COLOURS.items():
        yield f'<circle cx="{x + 4}" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield text(x + 13, y, route, size=11)
        x += 32 + 7 * len(route)
    yield f'<path d="M{x + 2} {y - 8}v8" stroke="#8c959f"/>'
    yield text(x + 9, y, "event", size=11)
    if labels:
        yield f'<path d="M{x + 60} {y - 8}l3 5h-6z" fill="{COLOURS[Route.INTERRUPT]}"/>'
        yield text(x + 69, y, "label (hollow: in no decision)", size=11)
