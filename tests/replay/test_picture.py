"""Pictures are SVG that any reader takes, whatever strangers wrote into the events."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from attend.core.types import Judgment
from attend.judges.rule import rule
from attend.replay.chart import terminal_chart, threshold_chart
from attend.replay.picture import timeline
from attend.replay.play import play
from attend.settings import Settings
from attend.testing import suggest_threshold
from tests.replay.streams import KINDS, STORY, line, recorded

pytestmark = pytest.mark.anyio

SVG = "{http://www.w3.org/2000/svg}"


async def test_a_timeline_has_a_dot_for_each_decision_in_each_setup() -> None:
    recording = recorded(*STORY)
    played = await play(recording, Settings(kinds=KINDS), rule)
    drawn = timeline(
        recording, [("this", played.decisions), ("that", played.decisions[:2])], {("ci", "a2"), ("ci", "zz")}
    )
    root = ElementTree.fromstring(drawn)
    assert len(list(root.iter(f"{SVG}title"))) == 6
    words = {each.text for each in root.iter(f"{SVG}text")}
    assert {"this", "that", "ci", "ops", "interrupt"} <= words
    marks = [each for each in root.iter(f"{SVG}path") if each.get("stroke") == "#d1242f"]
    assert [each.get("fill") == "#ffffff" for each in marks] == [False, False]


async def test_hostile_words_stay_words() -> None:
    name = "</title><script>alert(1)</script>"
    recording = recorded(line(f'"{name}&\u0001', "1", 0, "user.said", f"{name}\u0000\ufffe"))
    played = await play(recording, Settings(kinds=KINDS), rule)
    drawn = timeline(recording, [(name, played.decisions)])
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter(f"{SVG}script"))
    assert "<script" not in drawn


async def test_many_scopes_share_the_last_row() -> None:
    recording = recorded(*(line(f"s{n:03}", "1", n * 1000, "user.said") for n in range(100)))
    played = await play(recording, Settings(kinds=KINDS), rule)
    root = ElementTree.fromstring(timeline(recording, [("this", played.decisions)]))
    assert "40 more scopes" in {each.text for each in root.iter(f"{SVG}text")}
    assert len(list(root.iter(f"{SVG}title"))) == 100


def test_charts_of_thresholds() -> None:
    judgments = [Judgment("note", {"interrupt": p, "skip": 1 - p}) for p in (0.2, 0.5, 0.9)]
    found = suggest_threshold(judgments, duration_ms=3_600_000, max_acts_per_hour=2)
    root = ElementTree.fromstring(threshold_chart(found, 2))
    assert "0.5: 2 an hour" in {each.text for each in root.iter(f"{SVG}text")}
    lines = terminal_chart(found, 2)
    assert len(lines) == 20
    rates = [float(re.split(r"\s+", each)[-1]) for each in lines]
    assert rates == [3] * 4 + [2] * 6 + [1] * 8 + [0] * 2
    assert all("|" in each for each in lines)
