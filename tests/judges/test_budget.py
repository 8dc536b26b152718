"""What is left out of a window that is longer than a judge reads: non-acts, oldest first, never an act."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attend.errors import ConfigError
from attend.judges.budget import Budget, shed
from attend.judges.render import Shown, view
from tests.judges.windows import asked, crowd

shown = st.builds(
    Shown, json=st.text("abc", min_size=1, max_size=4), size=st.integers(1, 50), is_act=st.booleans()
)


@given(st.lists(shown), st.integers(0, 500))
def test_acts_stay_and_the_oldest_others_go_until_the_rest_fits(events: list[Shown], room: int) -> None:
    kept = shed(events, room)
    assert [event for event in kept if event.is_act] == [event for event in events if event.is_act]
    others = [event for event in events if not event.is_act]
    stayed = [event for event in kept if not event.is_act]
    assert stayed == others[len(others) - len(stayed) :]
    if events:
        assert kept
    acts = any(event.is_act for event in events)
    if sum(event.size for event in kept) > room:
        assert not stayed or (len(kept) == 1 and not acts)
    if len(stayed) < len(others):
        # Nothing more went than had to.
        again = others[len(others) - len(stayed) - 1].size
        assert sum(event.size for event in kept) + again > room


@given(st.lists(shown, min_size=1))
def test_halving_takes_something_away_or_says_that_it_cannot(events: list[Shown]) -> None:
    whole = view(asked())
    smaller = type(whole)(whole.input, tuple(events)).halved()
    if smaller is None:
        total = sum(event.size for event in events)
        assert all(event.is_act for event in events) or len(events) == 1 or total <= 1
    else:
        assert smaller.omitted == len(events) - len(smaller.events) > 0


def test_the_judge_is_told_how_many_earlier_events_it_does_not_see() -> None:
    window = crowd(50, acts=3)
    state = json.loads(view(asked(window)).within(3000).state)
    told = state["window"]["earlierEventsLeftOut"]
    assert told + len(state["window"]["events"]) == len(window.events)
    assert [each["text"] for each in state["window"]["events"] if each["kind"] == "flush"] == [
        event.text for event in window.events if event.kind.is_act
    ]


def test_room_is_what_the_context_leaves_beside_all_else() -> None:
    assert Budget().room(10, 10) is None
    assert Budget(32_000).room(0, 0) == (32_000 - 2048) * 3
    assert Budget(32_000).room(600, 100) == (32_000 - 2048 - 100) * 3 - 600
    # A small model's context is not all reserved.
    assert Budget(512).room(0, 0) == 384 * 3
    assert Budget(512).room(5000, 0) == 0


def test_a_budget_that_cannot_be_is_refused_with_every_problem() -> None:
    with pytest.raises(ConfigError) as caught:
        Budget(0, -1, 0).check()
    assert len(caught.value.problems) == 3
