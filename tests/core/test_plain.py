"""Text of strangers in messages to models."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attend.core.plain import MOST, plain

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("<>\"'`\n\r\t\0\x1b\u202e\u2066\u200b\u2028&;~[](){}|\\ a\u0430\u0391A0\u041e"),
    ),
    max_size=300,
)
"""Any text, with more than a fair share of what does harm; the letters at the end are of three scripts."""


@given(HOSTILE)
def test_nothing_that_leaves_its_place(text: str) -> None:
    shown = plain(text)
    assert len(shown) <= MOST
    assert not re.search(r"[<>\"'`&;\\\[\](){}|*$\x00-\x1f\x7f-\x9f]", shown)
    for character in shown:
        assert character == " " or unicodedata.category(character)[0] not in "CZM"
        assert unicodedata.bidirectional(character) in ("L", "EN", "ES", "ET", "CS", "ON", "WS")


@given(HOSTILE, HOSTILE)
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (plain(one) == plain(other)) == (one == other)


@given(HOSTILE)
def test_what_comes_out_is_no_name_of_another(text: str) -> None:
    shown = plain(text)
    assert shown == text or plain(shown) != shown


@pytest.mark.parametrize("text", ["run_9", "Low stock", "repo:acme/shop", "a-b.c@d#1+2", "x" * MOST])
def test_what_does_no_harm_is_left_as_it_is(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Low stock", "Low  stock"),
        ("Low stock", "Low stock "),
        ("Low stock", "L\u043ew stock"),
        ("Low stock", "<Low stock>"),
        ("x" * 1000, "x" * 1001),
        ("", " "),
        ("é", "e\u0301"),
    ],
)
def test_lookalikes_are_told_apart(one: str, other: str) -> None:
    assert plain(one) != plain(other)


def test_names_in_other_scripts_stay_readable() -> None:
    assert plain("Склад").startswith("Склад ~")
