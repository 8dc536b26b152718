"""How a file becomes a recording: what is accepted when."""

from __future__ import annotations

import pytest

from attend.api.ndjson import Command
from attend.errors import ConfigError
from attend.replay.recording import Recording, load, recording_of
from tests.replay.streams import AT, body, line, recorded


def order(recording: Recording) -> list[tuple[int, str, list[str]]]:
    """Instants since the beginning, scopes, and the ids that come there."""
    return [
        (
            moment.at - AT,
            scope,
            [("end " if given.end else "flush ") + str(given.id)]
            if isinstance(given, Command)
            else [str(event.id) for event in given],
        )
        for moment in recording.moments
        for scope, given in moment.pushes
    ]


def test_lines_come_in_order_of_their_instants_and_else_as_they_stand() -> None:
    found = recorded(
        line("a", "1", 100, "x"),
        line("b", "2", 0, "x"),
        line("a", "3", 100, "x"),
        line("b", "4", 100, "x"),
        line("a", "5", 50, "x"),
    )
    assert order(found) == [(0, "b", ["2"]), (50, "a", ["5"]), (100, "a", ["1", "3"]), (100, "b", ["4"])]
    assert (found.events, found.scopes, found.reordered) == (5, 2, 2)
    assert (found.began_at, found.ended_at, found.duration_ms) == (AT, AT + 100, 100)


def test_what_has_no_instant_comes_with_the_line_before_it() -> None:
    found = recorded(
        line("a", "0", None, "x"),
        line("a", "1", 200, "x"),
        {"scope": "a", "flush": True, "id": "f"},
        line("a", None, None, "x"),
        {"scope": "b", "end": True},
        line("a", "2", 100, "x"),
    )
    assert order(found) == [
        (100, "a", ["2"]),
        (200, "a", ["0", "1"]),
        (200, "a", ["flush f"]),
        (200, "a", ["line-4"]),
        (200, "b", ["end line-5"]),
    ]


def test_a_bad_line_is_left_out_and_told() -> None:
    found = recording_of(b'{"scope":"a"}\n\nnonsense\n' + body(line("a", "1", 0, "x")))
    assert found.events == 1
    assert [(each.line, each.error) for each in found.rejected] == [(1, "bad_name"), (3, "bad_json")]


def test_a_file_with_nothing_to_replay_is_refused() -> None:
    with pytest.raises(ConfigError, match="no line of it is an event with an `at`"):
        recording_of(b"")
    with pytest.raises(ConfigError, match=r"line 1: .*looks like seconds"):
        recording_of(b'{"scope":"a","name":"x","at":1760000000}\n')
    with pytest.raises(ConfigError, match="nowhere: No such file"):
        load("nowhere")
