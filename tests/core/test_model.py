"""Random lives of a scope, in `step` and in the naive model."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from attend.core.input import Ended, Flushed, Pushed, Ticked
from attend.core.rules import OnJudgeDown, Rules
from attend.core.types import Event, Kind, Lane, Route
from tests.core.walk import End, Move, Redo, Verdict, Wake, Walk

PAUSES = st.sampled_from([0, 0, 0, 1, 4, 5, 10, 40, 99, 100, 101, 200, 201, 1000])
LANES = st.sampled_from(Lane)
REQUESTS = st.integers(0, 99).map(str)


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Few enough ids that some come again, a little big or small, and at times saying something else."""
    kind = draw(st.sampled_from(Kind))
    data = b"x" * draw(st.sampled_from([0, 0, 0, 1, 300, 1300]))
    at = draw(st.sampled_from([0, 10**12]))
    return Event(str(draw(st.integers(0, 60))), "name", kind, at, data)


PUSHES = st.builds(
    Pushed,
    st.lists(events(), max_size=4).map(tuple),
    st.none(),
    st.none(),
    st.sampled_from([False, False, True]),
)
MOVES: st.SearchStrategy[Move] = st.one_of(
    PUSHES,
    PUSHES,
    PUSHES,
    st.one_of(st.builds(Flushed, REQUESTS), st.builds(Ended, REQUESTS)),
    st.builds(Ticked, LANES, st.booleans()),
    *(st.just(Wake(lane)) for lane in (Lane.SETTLE, Lane.SETTLE, Lane.SETTLE, Lane.DELIVER, Lane.BURY)),
    *[st.builds(Verdict, st.sampled_from(Route))] * 2,
    st.just(Verdict("wait")),
    st.builds(Verdict, st.sampled_from([*Route, "nonsense"]), st.booleans()),
    st.builds(
        Redo,
        st.integers(0, 3),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False] * 7 + [True]),
    ),
    st.builds(
        End,
        LANES,
        st.sampled_from(["failed", "failed", "fatal", "down", "lost", "lost", "released", "taken"]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([0, 0, 77, 300]),
    ),
)
RULES = st.builds(
    Rules,
    closing_grace_ms=st.just(5),
    stream_gap_ms=st.just(10),
    passive_quiet_ms=st.just(40),
    wait_horizon_ms=st.just(100),
    max_waits=st.sampled_from([2, 2, 1, 0]),
    max_events=st.sampled_from([4, 4, 1, 12]),
    max_window_ms=st.just(200),
    max_window_bytes=st.just(1200),
    retry_backoff_ms=st.sampled_from([(10, 40, 160), (10, 40, 160), (7,), ()]),
    judge_timeout_ms=st.just(50),
    delivery_timeout_ms=st.just(60),
    recent_count=st.just(3),
    seen_count=st.just(12),
    max_outbox=st.sampled_from([2, 1000]),
    max_dead_letters=st.sampled_from([2, 1000, 1000]),
    dead_letter_backoff_max_ms=st.just(500),
    sink=st.sampled_from([True, True, False]),
    dead_letter=st.booleans(),
    on_judge_down=st.sampled_from(OnJudgeDown),
)


# Long, or the lanes behind the judge are hardly ever reached.
LIVES = st.lists(st.tuples(PAUSES, MOVES), min_size=25, max_size=60)


@settings(max_examples=400, deadline=None)
@given(RULES, LIVES)
def test_step_and_the_model_agree_and_every_promise_holds(
    rules: Rules, moves: list[tuple[int, Move]]
) -> None:
    Walk(rules).go(moves)
