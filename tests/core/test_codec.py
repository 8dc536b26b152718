"""States, inputs and rules as bytes, and back."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from attend.core import codec
from attend.core.codec import Entry
from attend.core.input import (
    DeadDropped,
    DeadRetried,
    Delivered,
    Ended,
    Failed,
    Flushed,
    Input,
    Judged,
    Lost,
    Pushed,
    Released,
    RulesChanged,
    Ticked,
)
from attend.core.state import FORMAT
from attend.core.types import Judgment, Lane, Reason, Window
from attend.errors import StateFormatError
from tests.core.stories import RULES, SETTLE, event, failed, fresh, judged, push, tell

INPUTS: list[Input] = [
    push("log:a closing:b"),
    Pushed((event("log:a", data=b'{"n":1.10}', text="t"),), source="s", cursor="c", gap=True),
    Flushed("f"),
    Ended("e"),
    Ticked(Lane.BURY),
    Ticked(Lane.SETTLE, takeover=False),
    Judged("w", 3, Judgment("queue", {"queue": 0.5}, 0.5, {"asked": 1.0}, "jev")),
    Delivered(Lane.DELIVER, "w"),
    Failed(Lane.DELIVER, "w", 3, "boom", True, 1000),
    Lost(Lane.SETTLE, "w", 3),
    Released(Lane.BURY, "w", 3),
    DeadRetried("dead-w", 5),
    DeadRetried("dead-w", 5, Window("repo", (event("closing:b"),), Reason.CLOSING, 500)),
    DeadDropped("dead-w", 5),
    RulesChanged(7, RULES),
]


@pytest.mark.parametrize("said", INPUTS, ids=lambda said: type(said).__name__)
def test_every_input_comes_back_from_the_tail_as_it_was(said: Input) -> None:
    entries = (Entry(5, said), Entry(6, said))
    assert codec.decode_entries(codec.encode(entries)) == entries


def test_every_kind_of_input_is_among_them() -> None:
    assert {type(said) for said in INPUTS} == set(Input.__args__)


def test_a_full_state_comes_back_as_it_was() -> None:
    told = tell(
        (0, push("flush:a")),
        (0, SETTLE),
        (1, judged("queue")),
        (2, push("flush:b")),
        (2, SETTLE),
        (3, failed(permanent=True)),
        (4, push("closing:c")),
        (504, SETTLE),
        (505, judged("wait")),
        (506, Pushed((event("log:d"),), source="s", cursor="c", gap=True)),
        (507, Flushed("f")),
    )
    state = told.state
    assert state.outbox
    assert state.dead
    assert state.held
    assert state.forced
    assert codec.decode_state(codec.encode(state)) == state


def test_a_state_in_judgement_comes_back_as_it_was() -> None:
    state = tell((0, push("flush:a")), (0, SETTLE)).state
    assert state.slot
    assert codec.decode_state(codec.encode(state)) == state


def test_a_fresh_state_is_small() -> None:
    assert len(codec.encode(fresh())) < 100


def test_the_digits_of_data_survive() -> None:
    data = b'{"n":1.10,"big":12345678901234567890123,"x":1e400}'
    state = tell((0, Pushed((event("log:a", data=data),)))).state
    assert codec.decode_state(codec.encode(state)).open.events[0].data_json == data


def test_rules_windows_and_summaries_come_back_as_they_were() -> None:
    told = tell((0, push("log:x flush:a")), (0, SETTLE))
    assert told.state.slot is not None
    window = told.state.slot.window
    assert codec.decode_rules(codec.encode(RULES)) == RULES
    assert codec.decode_window(codec.encode(window)) == window


def test_a_state_of_a_newer_format_is_refused_and_not_guessed_at() -> None:
    newer = codec.encode(replace(fresh(), format=FORMAT + 1))
    with pytest.raises(StateFormatError, match=f"format {FORMAT + 1}"):
        codec.decode_state(newer)


def test_a_newer_format_is_refused_whatever_else_it_holds() -> None:
    newer = msgspec.msgpack.encode({"format": FORMAT + 1, "scope": 7, "open": "elsewhere"})
    with pytest.raises(StateFormatError, match="format"):
        codec.decode_state(newer)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x00", b'{"scope":"x"}', msgspec.msgpack.encode({"scope": "x"})]
)
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(StateFormatError):
        codec.decode_state(data)


@pytest.mark.parametrize(
    "decode",
    [codec.decode_entries, codec.decode_rules, codec.decode_summary, codec.decode_window],
    ids=lambda decode: decode.__name__,
)
def test_bytes_that_are_nothing_of_ours_are_refused(decode: object) -> None:
    assert callable(decode)
    with pytest.raises(StateFormatError):
        decode(b"\xc1")
