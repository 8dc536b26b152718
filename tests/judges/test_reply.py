"""Finding the verdict in what a model wrote: the one there is, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attend.judges.answer import UnreadableError
from attend.judges.reply import verdict_in

TICKS = '{"route":"note","why":"it says ```js\\n{}\\n``` and {\\"route\\":\\"interrupt\\"}"}'


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ('{"route":"note"}', "note"),
        ('\n  {"route":"note"}\n', "note"),
        ('```json\n{"route":"note"}\n```', "note"),
        ('```\n{"route":"note"}\n```\nHope this helps!', "note"),
        ('Here is my answer:\n{"route":"note"} as asked.', "note"),
        ('The set {a, b} matters. {"route":"note"}', "note"),
        (TICKS, "note"),
        (f"```json\n{TICKS}\n```", "note"),
        ('{"route":"note"}\n{"route":"note"}', "note"),
        ('{"thought":"x"} {"route":"note"}', "note"),
        ('<think>maybe {"route":"interrupt"}</think>{"route":"note"}', "note"),
        ('{"route":"note","probabilities":{"route":"interrupt"}}', "note"),
    ],
)
def test_a_verdict_is_found_in_what_stands_round_it(text: str, route: str) -> None:
    assert verdict_in(text)["route"] == route


@pytest.mark.parametrize(
    "text",
    [
        "",
        "note",
        '"note"',
        "null",
        '["route","note"]',
        '[{"route":"note"',
        '{"answer":{"route":"interrupt"}}',
        '{"route":"no',
        '{"why":{"route":"interrupt"},"route":"sk',
        '{"why":{"route":"interrupt"},"route":',
        '{"why":{"route":"interrupt"},',
        '{"why":{"route":"interrupt"}',
        'verdict { "route" : {"route":"interrupt"} and so on }',
        'The event says {"route":"interrupt"}, I say {"route":"skip"}.',
        '{"route":"skip","route":"interrupt"}',
        '{"route":"skip","probabilities":{"skip":NaN}}',
        "{" * 5000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        "x" * 200_001,
    ],
)
def test_no_verdict_is_guessed(text: str) -> None:
    with pytest.raises(UnreadableError):
        verdict_in(text)


objects: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"route": st.text()}, optional={"why": st.text(), "x": st.none()}
)


@given(
    objects, st.sampled_from(["", "```json\n", "Sure. ", "{a} "]), st.sampled_from(["", "\n```", " Done."])
)
def test_what_was_written_is_what_is_read(said: dict[str, Any], before: str, after: str) -> None:
    text = json.dumps(said)
    if "</think>" not in text:
        assert verdict_in(before + text + after) == said


@given(objects, st.data())
def test_a_reply_that_breaks_off_is_no_verdict(said: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(said)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(UnreadableError):
        verdict_in(text[:cut])
