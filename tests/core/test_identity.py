"""Who an event, a decision and a request are: rules 10, 11 and 12 of behaviour."""

from __future__ import annotations

import hashlib

import pytest

from attend.core.input import Ended, Flushed, Pushed
from attend.core.step import Settling, Taken
from attend.core.types import Event, letter_id, window_id
from tests.core.stories import (
    DELIVER,
    SETTLE,
    Line,
    delivered,
    event,
    failed,
    flushed,
    judged,
    push,
    tell,
    with_rules,
)

FEW = with_rules(max_events=2, seen_count=3)


def test_a_repeat_is_a_duplicate_and_changes_nothing() -> None:
    once = tell((0, push("closing:a")))
    twice = tell((400, push("closing:a")), state=once.state)
    assert twice.replies == [Taken(0, duplicates=(0,))]
    assert twice.state == once.state


def test_a_repeat_within_one_push_is_a_duplicate() -> None:
    told = tell((0, push("log:a log:b log:a")))
    assert told.replies == [Taken(2, duplicates=(2,))]
    assert [one.id for one in told.state.open.events] == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [event("log:a", data=b'{"n":2}'), event("log:a", text="new"), event("closing:a")],
    ids=["data", "text", "name"],
)
def test_a_repeat_that_says_something_else_is_a_conflict_and_the_first_stands(other: Event) -> None:
    told = tell((0, push("log:a")), (1, Pushed((event("log:b"), other))))
    assert told.replies[-1] == Taken(1, duplicates=(1,), conflicts=(1,))
    assert told.state.open.events[0] == event("log:a")


def test_another_at_is_no_conflict() -> None:
    told = tell((0, push("log:a", at=1)), (1, push("log:a", at=2)))
    assert told.replies[-1] == Taken(0, duplicates=(0,))


def test_an_id_is_forgotten_after_seen_count_others() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (1, judged("skip")),
        (2, push("log:b log:c log:d")),
        (3, push("log:a")),
        rules=FEW,
    )
    assert told.replies[-1] == Taken(1)


def test_the_last_seen_count_ids_are_known_though_nothing_holds_them() -> None:
    told = tell(
        (0, push("flush:a flush:b")),
        (0, SETTLE),
        (1, judged("skip")),
        (3, push("flush:a flush:b")),
        rules=FEW,
    )
    assert told.replies[-1] == Taken(0, duplicates=(0, 1))


NEWER = push("log:x log:y log:z")


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ("open", [(1, push("passive:b passive:c"))]),
        ("in judgement", [(0, SETTLE), (1, NEWER)]),
        ("held", [(500, SETTLE), (501, judged("wait")), (502, NEWER)]),
        ("outbox", [(500, SETTLE), (501, judged("queue")), (502, NEWER)]),
        ("dead", [(500, SETTLE), (501, failed(permanent=True)), (502, NEWER)]),
    ],
)
def test_an_id_that_the_scope_still_holds_stays_known(where: str, lines: list[Line]) -> None:
    told = tell((0, push("closing:a")), *lines, (9000, push("closing:a")), rules=FEW)
    assert told.replies[-1] == Taken(0, duplicates=(0,)), where


def test_ids_that_are_held_long_do_not_push_out_the_memory_of_later_ones() -> None:
    told = tell(
        (0, push("flush:a flush:b flush:c")),
        (0, SETTLE),
        (1, judged("queue")),
        (2, push("flush:x flush:y")),
        (2, SETTLE),
        (3, judged("skip")),
        (4, push("flush:x flush:y")),
        rules=FEW,
    )
    assert told.replies[-1] == Taken(0, duplicates=(0, 1))


def test_an_id_is_forgotten_once_its_decision_was_delivered() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (1, judged("queue")),
        (1, DELIVER),
        (2, delivered),
        (3, push("log:x log:y log:z")),
        (4, push("log:a")),
        rules=FEW,
    )
    assert told.replies[-1] == Taken(1)


def test_a_shed_event_is_known_when_it_comes_again() -> None:
    told = tell((0, push("log:a log:b log:c")), (1, push("log:b log:c")), rules=FEW)
    assert told.replies[-1] == Taken(0, duplicates=(0, 1))


def test_a_push_that_repeats_an_old_id_among_new_ones_is_known_whole_when_it_comes_again() -> None:
    mixed = push("flush:a log:x log:y log:z")
    told = tell((0, push("flush:a")), (0, SETTLE), (1, judged("skip")), (2, mixed), (3, mixed), rules=FEW)
    assert told.replies[1:] == [Taken(3, duplicates=(0,)), Taken(0, duplicates=(0, 1, 2, 3))]


def test_the_decision_id_is_the_hash_that_the_documentation_gives() -> None:
    # printf '["repo","a","b"]' | sha256sum | cut -c1-32
    assert window_id("repo", ["a", "b"]) == "ea5736b70c63c870658563628b8d88cc"
    assert window_id("repo", ["a", "b"]) == hashlib.sha256(b'["repo","a","b"]').hexdigest()[:32]


def test_the_hash_is_over_utf8_and_not_over_escapes() -> None:
    assert window_id("ré", ["☃"]) == hashlib.sha256('["ré","☃"]'.encode()).hexdigest()[:32]


def test_no_two_scopes_and_no_two_splits_share_a_decision_id() -> None:
    ids = [
        window_id(*args) for args in [("s", ["a", "b"]), ("s", ["ab"]), ("s2", ["a", "b"]), ("s", ["b", "a"])]
    ]
    assert len(set(ids)) == len(ids)


def test_a_decision_keeps_its_id_through_every_retry() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (1, failed()),
        (1001, SETTLE),
        (1002, judged("queue")),
        (1002, DELIVER),
        (1003, failed(lane=DELIVER.lane)),
        (2003, DELIVER),
    )
    assert told.effects[-1] == "2003 deliver a"
    assert told.state.outbox[0].id == window_id("repo", ["a"])


def test_a_dead_letter_has_the_id_of_its_window_marked() -> None:
    told = tell((0, push("flush:a")), (0, SETTLE), (1, failed(permanent=True)))
    assert told.state.dead[0].id == letter_id(window_id("repo", ["a"])) == f"dead-{window_id('repo', ['a'])}"


@pytest.mark.parametrize("again", [Flushed("r"), Ended("r")])
def test_a_request_sent_again_returns_its_outcome_and_settles_no_later_window(again: Flushed | Ended) -> None:
    told = tell(
        (0, push("log:a")),
        (1, again),
        (1, SETTLE),
        (2, judged("queue")),
        (3, push("log:b")),
        (4, again),
        (4, SETTLE),
    )
    assert told.replies[-1] == Settling(True)
    assert told.effects == [
        f"1 judge {'forced a (no wait)' if isinstance(again, Flushed) else 'closing a'}",
        "2 log queue a (held)",
    ]


def test_a_request_that_found_nothing_goes_on_finding_nothing() -> None:
    told = tell((0, flushed("r")), (1, push("log:a")), (2, flushed("r")), (2, SETTLE))
    assert told.replies == [Settling(False), Taken(1), Settling(False)]
    assert told.effects == []


def test_the_last_64_requests_are_remembered() -> None:
    others: list[Line] = [(1, flushed(f"o{n}")) for n in range(63)]
    told = tell((0, flushed("r")), *others, (2, push("log:a")), (3, flushed("r")), (3, SETTLE))
    assert told.replies[-1] == Settling(False)
    told = tell((0, flushed("r")), *others, (1, flushed("o63")), (2, push("log:a")), (3, flushed("r")))
    assert told.replies[-1] == Settling(True)


def test_a_source_is_read_on_in_the_same_step_as_its_events() -> None:
    told = tell((0, Pushed((event("log:a"),), source="mcp", cursor="c1")))
    assert told.state.cursors == {"mcp": "c1"}
    told = tell((1, Pushed((event("log:b"),), source="tail", cursor="t1")), state=told.state)
    assert told.state.cursors == {"mcp": "c1", "tail": "t1"}


def test_duplicates_still_move_the_cursor_and_tell_of_a_gap() -> None:
    told = tell(
        (0, Pushed((event("log:a"),), source="mcp", cursor="c1")),
        (1, Pushed((event("log:a"),), source="mcp", cursor="c2", gap=True)),
    )
    assert told.replies[-1] == Taken(0, duplicates=(0,))
    assert told.state.cursors == {"mcp": "c2"}
    assert told.state.open.gap


def test_a_push_that_met_a_full_lane_does_not_move_the_cursor() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (1, judged("queue")),
        (2, Pushed((event("log:b"),), source="mcp", cursor="c1")),
        rules=with_rules(max_outbox=1),
    )
    assert told.replies[-1] == Taken(0, refused=(0,), full="outbox")
    assert told.state.cursors == {}
