"""Precision, recall, and what changes from one setup to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from attend.core.types import Reason, Route, Summary, window_id
from attend.errors import ConfigError
from attend.replay.comparison import compare
from attend.replay.labels import Label, labelled, load_labels, score
from tests.replay.streams import STORY, recorded


def decision(scope: str, *ids: str, route: Route = Route.QUEUE, at: int = 0) -> Summary:
    """A decision about these events."""
    return Summary(
        id=window_id(scope, ids),
        scope=scope,
        route=route,
        reason=Reason.CLOSING,
        decided_at=at,
        notice="",
        event_ids=ids,
    )


def test_labels_are_lines_of_json_or_ids_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "labels"
    file.write_text('{"id":"a2","label":"fire"}\n\na5\n{"id":"b2","scope":"ops"}\n')
    assert load_labels(str(file)) == [Label("a2"), Label("a5"), Label("b2", "ops")]
    found, unknown = labelled([*load_labels(str(file)), Label("b2", "ci"), Label("zz")], recorded(*STORY))
    assert (set(found), unknown) == ({("ci", "a2"), ("ci", "a5"), ("ops", "b2")}, 2)


@pytest.mark.parametrize("text", ["", '{"label":"fire"}\n', '{"id":7}\n', "{nonsense\n"])
def test_labels_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "labels"
    file.write_text(text)
    with pytest.raises(ConfigError, match="labels"):
        load_labels(str(file))


def test_a_labelled_event_is_heard_where_a_decision_that_wakes_is_about_it() -> None:
    decisions = [
        decision("a", "1", "2"),
        decision("a", "3"),
        decision("a", "4", route=Route.NOTE),
        decision("b", "1", route=Route.INTERRUPT),
    ]
    labels = {("a", "1"), ("a", "2"), ("a", "4"), ("b", "2")}
    found = score(decisions, labels, duration_ms=1_800_000, unknown=1)
    assert (found.wakes, found.right, found.heard, found.missed) == (3, 1, 2, ("2", "4"))
    assert (found.precision, found.recall, found.wakes_per_hour) == (1 / 3, 0.5, 6)
    noted = score(decisions, labels, duration_ms=1_800_000, routes=set(Route))
    assert (noted.wakes, noted.heard) == (4, 3)
    nothing = score([], [], duration_ms=1)
    assert (nothing.precision, nothing.recall, nothing.wakes_per_hour) == (None, None, 0)


def test_decisions_appear_vanish_and_change_route() -> None:
    before = [decision("a", "1"), decision("a", "2"), decision("b", "1"), decision("c", "9")]
    after = [decision("a", "1", "2"), decision("b", "1", route=Route.ASK), decision("d", "7")]
    found = compare(before, after)
    assert [each.event_ids for each in found.appeared] == [("1", "2"), ("7",)]
    assert [each.event_ids for each in found.vanished] == [("1",), ("2",), ("9",)]
    assert [(each.before.route, each.after.route) for each in found.rerouted] == [(Route.QUEUE, Route.ASK)]
    both = window_id("a", ["1", "2"])
    assert [found.moved[each.id] for each in found.vanished] == [(both,), (both,), ()]
    assert not found.same
    assert compare(before, before).same
