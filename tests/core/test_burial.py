"""The dead letters: rule 20 of behaviour."""

from __future__ import annotations

from attend.core.effect import Bury
from attend.core.step import Taken
from attend.core.types import Lane, Stage, letter_id, window_id
from tests.core.stories import (
    BURY,
    DELIVER,
    buried,
    dead,
    decide,
    delivered,
    failed,
    lane_of,
    lost,
    push,
    tell,
    with_rules,
)


def test_a_full_dead_letter_lane_refuses_new_events_and_names_itself() -> None:
    told = tell(*dead(0, "a"), (1, push("log:b")), rules=with_rules(max_dead_letters=1))
    assert told.replies[-1] == Taken(0, refused=(0,), full="dead letters")


def test_dead_letters_never_hold_back_a_decision() -> None:
    told = tell(*dead(0, "a"), (0, BURY), *decide(1, "b"), (1, DELIVER), (2, delivered))
    assert lane_of(told.effects, "bury", "deliver", "drop") == [
        "0 bury judge a: no",
        "1 deliver b",
        "2 drop b (done)",
    ]
    assert (told.due.bury, told.due.deliver) == (10_000, None)


def test_a_dead_letter_tells_its_stage_message_and_starts() -> None:
    told = tell(*dead(7, "a"), (9, BURY))
    call = told.raw[-1]
    assert isinstance(call, Bury)
    assert (call.id, call.window) == (letter_id(window_id("repo", ["a"])), window_id("repo", ["a"]))
    assert (call.stage, call.message, call.starts, call.at) == (Stage.JUDGE, "no", 1, 7)
    assert call.leased_until == 10_009


def test_a_dead_letter_is_tried_for_ever_with_a_backoff_that_doubles_to_its_cap() -> None:
    told = tell(*dead(0, "a"))
    waits: list[int] = []
    for _ in range(9):
        at = told.due.bury
        assert at is not None
        told = tell((at, BURY), (at, failed(lane=Lane.BURY, permanent=True)), state=told.state)
        assert told.due.bury is not None
        waits.append(told.due.bury - at)
    assert waits == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert len(told.state.dead) == 1


def test_a_dead_letter_whose_handler_kills_workers_is_never_given_up() -> None:
    told = tell(*dead(0, "a"))
    for _ in range(40):
        at = told.due.bury
        assert at is not None
        told = tell((at, BURY), (at, lost(Lane.BURY)), state=told.state)
        assert told.due.bury is not None
        assert at < told.due.bury <= at + 60_000
    assert len(told.state.dead) == 1


def test_a_dead_letter_that_was_taken_is_gone_with_its_window() -> None:
    told = tell(*dead(0, "a"), *dead(0, "b"), (1, BURY), (2, buried), (2, BURY))
    assert lane_of(told.effects, "bury", "drop") == [
        "1 bury judge a: no",
        "2 drop a (done)",
        "2 bury judge b: no",
    ]


def test_without_a_handler_dead_letters_are_kept() -> None:
    told = tell(*dead(0, "a"), (9, BURY), rules=with_rules(dead_letter=False))
    assert told.due.bury is None
    assert len(told.state.dead) == 1
    assert told.effects[-1] == "0 keep a"
