"""`attend replay FILE`: what an agent would have heard of recorded events, under one setup or two side by side."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from attend.cli.flags import read
from attend.cli.screen import count, one_line, rate, span
from attend.cli.tries import REPLAY
from attend.core.types import Route, Summary
from attend.errors import ConfigError
from attend.payload import payload
from attend.replay.comparison import Comparison, compare
from attend.replay.labels import WAKES, Score, labelled, load_labels, per_hour, score
from attend.replay.picture import timeline
from attend.replay.play import Played
from attend.replay.recording import Recording, load
from attend.replay.run import Asking, run
from attend.replay.setups import other, this


class Shown(Struct, frozen=True):
    """One setup's part: what it is called, what it came to, and how well."""

    name: str
    played: Played
    score: Score | None


def run_replay(file: str, flags: Mapping[str, Sequence[str]], *, as_json: bool) -> int:
    """Replay a file and return the exit code. Raises `ConfigError` with all that is wrong with the command line."""
    values, _ = read(REPLAY, flags, {})
    settings = this(flags, os.environ)
    setups = [("this setup", settings)]
    if against := values.get("against"):
        setups.append((", ".join(against), other(against, flags, os.environ, settings)))
    recording = load(file)
    labels: Collection[tuple[str, str]] = ()
    unknown = 0
    if "labels" in values:
        labels, unknown = labelled(load_labels(values["labels"]), recording)
    asking = asking_of(values)
    played = asyncio.run(run(recording, [each for _, each in setups], asking))
    shown = [
        Shown(
            name,
            found,
            score(
                found.decisions,
                labels,
                duration_ms=recording.duration_ms,
                unknown=unknown,
                routes=values.get("wakes", WAKES),
            )
            if "labels" in values
            else None,
        )
        for (name, _), found in zip(setups, played, strict=True)
    ]
    if "svg" in values:
        pictured = [(one_line(each.name), each.played.decisions) for each in shown]
        write(values["svg"], timeline(recording, pictured, labels))
    changes = compare(played[0].decisions, played[1].decisions) if len(played) > 1 else None
    if as_json:
        sys.stdout.write(msgspec.json.encode(_json(file, recording, shown, changes)).decode() + "\n")
        return 0
    for line in _lines(recording, shown, changes, values.get("show", 40), values.get("wakes", WAKES)):
        print(line)
    return 0


def asking_of(values: Mapping[str, Any]) -> Asking:
    """Where verdicts come from, by the flags."""
    return Asking(values.get("judgments"), values.get("record"), values.get("judge_ms", 0))


def write(path: str, text: str) -> None:
    """Write a picture. Raises `ConfigError`."""
    try:
        Path(path).expanduser().write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--svg: {path}: {error.strerror}; give a file that can be written") from None


def about(recording: Recording) -> Iterator[str]:
    """What a recording holds, in words."""
    length = span(recording.duration_ms)
    yield (
        f"{count(recording.events, 'event')} in {count(recording.scopes, 'scope')}, "
        f"{instant(recording.began_at)} to {instant(recording.ended_at)} UTC ({length})"
    )
    if recording.reordered:
        yield f"{count(recording.reordered, 'line')} stood after a later one: they are taken in order of `at`"
    for rejection in recording.rejected[:5]:
        yield f"line {rejection.line} is left out: {one_line(rejection.message)}"
    if len(recording.rejected) > 5:
        yield f"... and {len(recording.rejected) - 5} more lines"


def _lines(
    recording: Recording,
    shown: Sequence[Shown],
    changes: Comparison | None,
    most: int,
    wakes: Collection[Route],
) -> Iterator[str]:
    yield from about(recording)
    for each in shown:
        yield ""
        yield from _setup(each, recording, wakes)
        if changes is None:
            yield from _table(each.played.decisions, most)
    if changes is not None:
        yield ""
        yield from _changes(changes, shown[1].name, most)


def _setup(shown: Shown, recording: Recording, wakes: Collection[Route]) -> Iterator[str]:
    played = shown.played
    routes = Counter(decision.route.value for decision in played.decisions)
    quiet = Counter(verdict.route.value for verdict in played.verdicts)
    often = per_hour(sum(each.route in wakes for each in played.decisions), recording.duration_ms)
    yield one_line(shown.name)
    settled = ", ".join(f"{number} {reason}" for reason, number in played.settled.items()) or "none settled"
    yield f"  windows    {sum(played.settled.values())} ({settled}), {count(played.dropped, 'event')} shed"
    if not played.settled:
        yield "  no event is an act, and nothing but an act settles a window: --kinds says which are"
    heard = ", ".join(f"{number} {route}" for route, number in routes.items()) or "nothing"
    unheard = "".join(f"; {number} {route}" for route, number in quiet.items())
    yield f"  heard      {len(played.decisions)} ({heard}){unheard}"
    yield f"  wakes      {rate(often)} an hour"
    if played.replayed or played.letters:
        yield f"  judged     {played.asked} asked, {played.replayed} known already, {len(played.letters)} dead"
    for letter in played.letters[:3]:
        yield f"    dead     {one_line(letter.scope)}: {one_line(letter.message)[:200]}"
    if played.duplicates or played.refused:
        yield f"  events     {played.duplicates} known already, {played.refused} refused by a full scope"
    if shown.score is not None:
        yield from _score(shown.score)


def _score(found: Score) -> Iterator[str]:
    yield f"  recall     {share(found.recall)}: {found.heard} of {found.labels} labelled events woke someone"
    yield f"  precision  {share(found.precision)}: {found.right} of {count(found.wakes, 'wake')} were about one"
    if found.missed:
        rest = f" and {len(found.missed) - 8} more" if len(found.missed) > 8 else ""
        yield f"  missed     {one_line(', '.join(found.missed[:8]))}{rest}"
    if found.unknown:
        yield f"  unknown    {count(found.unknown, 'label')} of no event here"


def _table(decisions: Sequence[Summary], most: int) -> Iterator[str]:
    rows = [_row(each) for each in decisions[:most]]
    if rows:
        yield ""
        head = ("when", "scope", "route", "reason", "events", "what")
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(5)]
        for row in [head, *rows]:
            yield "  " + "  ".join(
                [*(cell.ljust(widths[place]) for place, cell in enumerate(row[:5])), row[5]]
            )
    if len(decisions) > most:
        yield f"  ... {len(decisions) - most} more; --show says how many to show, --json has all"


def _row(decision: Summary) -> tuple[str, ...]:
    scope, what = one_line(decision.scope), one_line(decision.notice.partition("\n")[0])
    scope = scope if len(scope) <= 32 else scope[:31] + "…"
    what = what if len(what) <= 80 else what[:79] + "…"
    at = instant(decision.decided_at)
    return at, scope, decision.route.value, decision.reason.value, str(len(decision.event_ids)), what


def _changes(changes: Comparison, name: str, most: int) -> Iterator[str]:
    if changes.same:
        yield f"with {one_line(name)} an agent hears the same"
        return
    yield (
        f"with {one_line(name)}: {len(changes.appeared)} appear, {len(changes.vanished)} vanish, "
        f"{len(changes.rerouted)} change route"
    )
    signed = [("-", each.decided_at, each, "") for each in changes.vanished]
    signed += [("+", each.decided_at, each, "") for each in changes.appeared]
    signed += [
        ("~", each.after.decided_at, each.after, f"{each.before.route} -> ") for each in changes.rerouted
    ]
    signed.sort(key=lambda each: (each[1], each[0]))
    for sign, _, decision, was in signed[:most]:
        at, scope, route, reason, events, what = _row(decision)
        yield f"  {sign} {at}  {scope}  {was}{route}  {reason}  {count(int(events), 'event')}  {what}"
        if sign == "-" and not changes.moved[decision.id]:
            yield "      its events are in no decision any more"
    if len(signed) > most:
        yield f"  ... {len(signed) - most} more; --show says how many to show, --json has all"


def _json(
    file: str, recording: Recording, shown: Sequence[Shown], changes: Comparison | None
) -> dict[str, Any]:
    found: dict[str, Any] = {"recording": described(file, recording)}
    found["setups"] = [
        {
            "name": each.name,
            "decisions": [decided(decision) for decision in each.played.decisions],
            "verdicts": [_camel(verdict) for verdict in each.played.verdicts],
            "deadLetters": [_camel(letter) for letter in each.played.letters],
            "settled": each.played.settled,
            "dropped": each.played.dropped,
            "duplicates": each.played.duplicates,
            "refused": each.played.refused,
            "asked": each.played.asked,
            "replayed": each.played.replayed,
            "score": None if each.score is None else msgspec.to_builtins(each.score),
        }
        for each in shown
    ]
    if changes is not None:
        found["changes"] = {
            "appeared": [each.id for each in changes.appeared],
            "vanished": [each.id for each in changes.vanished],
            "rerouted": [
                {"decisionId": each.after.id, "from": each.before.route, "to": each.after.route}
                for each in changes.rerouted
            ],
            "moved": changes.moved,
        }
    return found


def described(file: str, recording: Recording) -> dict[str, Any]:
    """A recording as JSON."""
    return {
        "file": file,
        "events": recording.events,
        "scopes": recording.scopes,
        "beganAt": recording.began_at,
        "endedAt": recording.ended_at,
        "durationMs": recording.duration_ms,
        "reordered": recording.reordered,
        "rejected": [msgspec.to_builtins(each) for each in recording.rejected],
    }


def decided(decision: Summary) -> dict[str, Any]:
    """A decision as subscribers get it, with who judged and what the act threshold changed."""
    extra = {"judge": decision.judge, "changedFrom": decision.changed_from, "starts": decision.starts}
    return payload(decision) | {name: value for name, value in extra.items() if value is not None}


def _camel(struct: Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(struct)
    return {"windowId" if name == "window" else name: value for name, value in fields.items()}


def instant(at: int) -> str:
    """An instant in UTC, to the millisecond."""
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d %H:%M:%S}.{at % 1000:03d}"


def share(value: float | None) -> str:
    """A share, or a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
