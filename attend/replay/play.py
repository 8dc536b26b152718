"""One recording through the real engine, on a clock that jumps from instant to instant."""

from __future__ import annotations

import asyncio
from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from attend.api.ndjson import Command
from attend.app import Attend, from_settings
from attend.core.codec import decode_summary
from attend.core.trace import DeadLettered, EventsDropped, VerdictReached, WindowSettled
from attend.core.types import Judgment, Reason, Route, Summary
from attend.errors import OutboxFullError
from attend.judges.base import Judge
from attend.replay.judgments import Bench, Judgments, who_of
from attend.replay.recording import Recording
from attend.settings import Settings
from attend.store.memory import MemoryStore
from attend.testing.clock import FakeClock
from attend.trace import Trace

SLOTS = 1_000_000
"""Runs in hand at once: as many as come due, since no real time passes while they wait for each other."""

PAGE = 1000


class Verdict(Struct, frozen=True):
    """A verdict that an agent heard nothing of."""

    at: int
    scope: str
    window: str
    route: Route
    reason: Reason | None
    events: int


class Letter(Struct, frozen=True):
    """A window that the judge could not be asked about."""

    at: int
    scope: str
    id: str
    message: str


class Played(Struct, frozen=True, kw_only=True):
    """What a recording came to under some settings: decisions in the log's order, and what led to none.

    `asked` counts the answers of the real judge, `replayed` those that had been recorded; `judgments` are all of
    them, in order. `dropped` counts non-acts that were shed, `duplicates` events whose id was known.
    """

    decisions: tuple[Summary, ...]
    verdicts: tuple[Verdict, ...]
    letters: tuple[Letter, ...]
    judgments: tuple[Judgment, ...]
    asked: int
    replayed: int
    dropped: int
    duplicates: int
    refused: int
    settled: dict[str, int]


class _Watch:
    """Takes down what the engine's traces say, with the instant it is told at."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._settled: dict[str, WindowSettled] = {}
        self.reasons = Counter[str]()
        self.verdicts: list[Verdict] = []
        self.letters: list[Letter] = []
        self.dropped = 0

    def __call__(self, trace: Trace) -> None:
        now = self._clock.now()
        if isinstance(trace, WindowSettled):
            self._settled[trace.window] = trace
            self.reasons[trace.reason.value] += 1
        elif isinstance(trace, VerdictReached) and not trace.route.is_delivered:
            found = self._settled.get(trace.window)
            self.verdicts.append(
                Verdict(
                    now,
                    trace.scope,
                    trace.window,
                    trace.route,
                    None if found is None else found.reason,
                    0 if found is None else found.events,
                )
            )
        elif isinstance(trace, EventsDropped):
            self.dropped += trace.count
        elif isinstance(trace, DeadLettered):
            self.letters.append(Letter(now, trace.scope, trace.letter, trace.message))


async def play(
    recording: Recording,
    settings: Settings,
    judge: Judge | None,
    recorded: Judgments | None = None,
    *,
    judge_ms: int = 0,
) -> Played:
    """Run a recording under settings, in memory and in simulated time, until nothing is due any more.

    Their store and sink are left alone. Without a judge only recorded judgments count. Raises `ConfigError` for
    settings that cannot be used.
    """
    clock = FakeClock(recording.began_at)
    watch = _Watch(clock)
    bench = Bench(
        clock,
        who_of(settings),
        judge,
        recorded or Judgments(),
        timeout_ms=settings.rules.judge_timeout_ms,
        judge_ms=judge_ms,
    )
    store = MemoryStore(clock)
    app = from_settings(
        replace(settings, judge="rule", concurrency=SLOTS, sink=None, dead_letter=None, shutdown_grace_ms=0),
        store,
        observe=watch,
        judge=bench,
        clock=clock,
    )
    await app.start()
    running = asyncio.create_task(app.run())
    try:
        duplicates, refused = await _push_all(app, clock, recording)
        while (at := clock.next_at) is not None:
            await clock.advance_to(at)
        decisions = await _log(store)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await app.close()
    return Played(
        decisions=decisions,
        verdicts=tuple(watch.verdicts),
        letters=tuple(watch.letters),
        judgments=tuple(bench.judgments),
        asked=bench.asked,
        replayed=bench.replayed,
        dropped=watch.dropped,
        duplicates=duplicates,
        refused=refused,
        settled=dict(watch.reasons),
    )


async def _push_all(app: Attend, clock: FakeClock, recording: Recording) -> tuple[int, int]:
    """Push each line at its instant; how many events were known already, and how many a full scope refused."""
    duplicates = refused = 0
    for moment in recording.moments:
        await clock.advance_to(moment.at)
        for scope, given in moment.pushes:
            if isinstance(given, Command):
                await (app.end if given.end else app.flush)(scope, id=given.id)
                continue
            try:
                duplicates += len((await app.push(scope, given)).duplicates)
            except OutboxFullError:
                refused += len(given)
    await clock.rest()
    return duplicates, refused


async def _log(store: MemoryStore) -> tuple[Summary, ...]:
    place = await store.log.start()
    found: list[Summary] = []
    while True:
        page = await store.log.read(place, PAGE)
        found += [decode_summary(row.summary) for row in page.rows]
        place = page.position
        if not page.more:
            return tuple(found)
