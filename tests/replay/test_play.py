"""A replay comes to what the library comes to, at once."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from attend.api.ndjson import Command
from attend.app import Attend
from attend.core.types import Judgment, Reason, Route
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.replay.judgments import Judgments
from attend.replay.labels import labelled, load_labels, score
from attend.replay.play import Played, play
from attend.replay.recording import Recording, load
from attend.settings import Settings
from attend.testing import fake_clock
from tests.engine.world import logged, running
from tests.replay.streams import AT, DATA, KINDS, STORY, line, nobody, recorded, shares

pytestmark = pytest.mark.anyio

SETTINGS = Settings(kinds=KINDS)


def told(played: Played) -> list[tuple[int, str, str, str, tuple[str, ...]]]:
    """Decisions as when, where, which route, why, and about what."""
    return [
        (each.decided_at - AT, each.scope, each.route.value, each.reason.value, each.event_ids)
        for each in played.decisions
    ]


async def test_windows_settle_on_the_files_own_time() -> None:
    played = await play(recorded(*STORY), SETTINGS, rule)
    assert told(played) == [
        (800, "ci", "queue", "closing", ("a1", "a2", "a3")),
        (2000, "ci", "interrupt", "flush", ("a4",)),
        (3500, "ops", "queue", "closing", ("b1", "b2")),
        (3_600_500, "ci", "queue", "closing", ("a5",)),
    ]
    assert played.settled == {"closing": 3, "flush": 1}
    assert (played.asked, played.replayed, played.letters) == (4, 0, ())


async def test_settings_change_what_comes_of_it() -> None:
    patient = Settings(kinds=KINDS, settle={"closing_grace_ms": 5000})
    assert [each[4] for each in told(await play(recorded(*STORY), patient, rule))] == [
        ("a1", "a2", "a3", "a4"),
        ("b1", "b2"),
        ("a5",),
    ]
    blind = await play(recorded(*STORY), Settings(), rule)
    assert (blind.decisions, blind.settled) == ((), {})


async def through_the_library(recording: Recording, **options: Any) -> list[tuple[str, Route, Reason, int]]:
    """The same events pushed one by one at their instants, in an app on a fake clock."""
    clock = fake_clock(recording.began_at)
    app = Attend(clock=clock, **options)
    async with running(app):
        for moment in recording.moments:
            await clock.advance(moment.at - clock.now())
            for scope, given in moment.pushes:
                assert not isinstance(given, Command)
                await app.push(scope, given)
        await clock.advance(600_000)
        return [(each.id, each.route, each.reason, each.decided_at) for each in await logged(app.store)]


async def test_it_is_what_the_library_does_at_the_same_instants() -> None:
    recording = recorded(*STORY)
    played = await play(recording, SETTINGS, shares)
    found = await through_the_library(recording, kind=KINDS, judge=shares)
    assert found == [(each.id, each.route, each.reason, each.decided_at) for each in played.decisions]
    assert len(found) == 4


async def test_a_verdict_to_wait_is_asked_again_at_its_horizon() -> None:
    async def waits(input: JudgeInput) -> Judgment:
        return Judgment("wait" if Route.WAIT in input.routes else "note")

    played = await play(recorded(line("a", "1", 0, "x.failed")), SETTINGS, waits)
    assert told(played) == [(10_500, "a", "note", "horizon", ("1",))]
    assert [(each.at - AT, each.route, each.events) for each in played.verdicts] == [(500, Route.WAIT, 1)]


async def test_time_stands_still_while_a_real_judge_thinks() -> None:
    async def slow(input: JudgeInput) -> Judgment:
        await asyncio.sleep(0.02)
        return Judgment("queue")

    lines = [line("a", str(n), n * 10, "user.said") for n in range(5)]
    played = await play(recorded(*lines), SETTINGS, slow)
    assert told(played) == [(n * 10, "a", "queue", "flush", (str(n),)) for n in range(5)]


async def test_a_judge_can_take_simulated_time() -> None:
    lines = [line("a", str(n), n * 10, "user.said") for n in range(5)]
    played = await play(recorded(*lines), SETTINGS, rule, judge_ms=25)
    assert told(played) == [
        (25, "a", "interrupt", "flush", ("0",)),
        (50, "a", "interrupt", "flush", ("1", "2")),
        (75, "a", "interrupt", "flush", ("3", "4")),
    ]


async def test_a_judge_that_hangs_is_out_of_time_on_the_machines_clock() -> None:
    async def hangs(input: JudgeInput) -> Judgment:
        await asyncio.sleep(3600)
        raise AssertionError

    settings = Settings(kinds=KINDS, settle={"judge_timeout_ms": 20, "retry_backoff_ms": [1000]})
    played = await play(recorded(line("a", "1", 0, "user.said")), settings, hangs)
    assert [(each.at - AT, each.scope) for each in played.letters] == [(1000, "a")]


async def test_a_second_run_with_recorded_judgments_asks_nobody(tmp_path: Path) -> None:
    file = tmp_path / "judgments.ndjson"
    recording, first = recorded(*STORY), Judgments()
    first.record(str(file))
    played = await play(recording, SETTINGS, shares, first)
    first.close()
    assert (played.asked, played.replayed, len(file.read_text().splitlines())) == (4, 0, 4)
    again = Judgments()
    again.load(str(file))
    second = await play(recording, SETTINGS, nobody, again)
    assert (second.asked, second.replayed) == (0, 4)
    assert second.decisions == played.decisions
    alone = await play(recorded(line("a", "1", 0, "user.said")), SETTINGS, None, again)
    assert [each.message for each in alone.letters] == [
        "no judgment of this window by this judge was recorded"
    ]


async def test_judgments_of_one_judge_are_not_anothers() -> None:
    recording, kept = recorded(*STORY), Judgments()
    await play(recording, SETTINGS, shares, kept)
    told_more = Settings(kinds=KINDS, guidance="only fires matter")
    renamed = Settings(kinds=KINDS, judge="some.module:judge")
    for other in (told_more, renamed):
        assert (await play(recording, other, shares, kept)).asked == 4
    assert (await play(recording, SETTINGS, nobody, kept)).replayed == 4


async def test_a_known_event_and_a_full_scope_are_counted() -> None:
    lines = [line("a", "1", 0, "x.failed"), line("a", "1", 5, "x.failed"), line("a", "2", 5000, "x.failed")]
    settings = Settings(kinds=KINDS, settle={"max_dead_letters": 1})
    played = await play(recorded(*lines), settings, None, Judgments())
    assert (played.duplicates, played.refused, len(played.letters)) == (1, 1, 1)


@pytest.mark.skipif(not DATA.exists(), reason="the real streams are not here")
async def test_months_of_a_real_machines_log_in_a_moment() -> None:
    began = time.process_time()
    recording = load(str(DATA / "bgl-2k.ndjson"))
    labels, unknown = labelled(load_labels(str(DATA / "bgl-2k.alerts.ndjson")), recording)
    kinds = {"*.fatal": "closing", "*.severe": "closing"}
    played = await play(recording, Settings(kinds=kinds), rule)
    took = time.process_time() - began
    found = score(played.decisions, labels, duration_ms=recording.duration_ms, unknown=unknown)
    assert (recording.events, found.labels, found.unknown, found.recall) == (2000, 143, 0, 1.0)
    assert found.wakes == len(played.decisions)
    assert 0.05 < found.wakes_per_hour < 0.1
    # Seconds of the processor, which a busy machine leaves as they are.
    assert took < 3
    through = await through_the_library(recording, kind=kinds)
    assert through == [(each.id, each.route, each.reason, each.decided_at) for each in played.decisions]
