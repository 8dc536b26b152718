"""From names to kinds: rule 9 of behaviour."""

from __future__ import annotations

import pytest

from attend.core.kinds import Kinds
from attend.core.types import Kind
from attend.errors import ConfigError


def test_an_exact_name_wins_over_every_glob() -> None:
    kinds = Kinds({"build.*": "closing", "build.log": "consequence"})
    assert kinds("build.log") is Kind.CONSEQUENCE
    assert kinds("build.done") is Kind.CLOSING


def test_globs_are_tried_in_the_order_given() -> None:
    assert Kinds({"*.said": "flush", "user.*": "passive"})("user.said") is Kind.FLUSH
    assert Kinds({"user.*": "passive", "*.said": "flush"})("user.said") is Kind.PASSIVE


def test_names_and_globs_are_case_sensitive() -> None:
    kinds = Kinds({"User.*": "flush", "Done": "closing"})
    assert kinds("user.said") is Kind.CONSEQUENCE
    assert kinds("done") is Kind.CONSEQUENCE
    assert kinds("User.said") is Kind.FLUSH


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a[bx]c", "axc", True),
        ("a[!b]c", "abc", False),
        ("build.*", "prebuild.done", False),
        ("*", "anything\nat all", True),
        ("build.*", "build.", True),
        ("a+b*", "a+bc", True),
        ("a+b*", "aabc", False),
    ],
)
def test_a_glob_matches_the_whole_name(glob: str, name: str, matches: bool) -> None:
    assert (Kinds({glob: "flush"})(name) is Kind.FLUSH) is matches


def test_a_glob_is_an_exact_name_too() -> None:
    assert Kinds({"a*": "closing", "what?": "flush"})("what?") is Kind.FLUSH


def test_a_name_that_nothing_matches_has_the_default_kind() -> None:
    assert Kinds()("x") is Kind.CONSEQUENCE
    assert Kinds({}, "closing")("x") is Kind.CLOSING


def test_every_bad_kind_is_reported_with_its_name() -> None:
    with pytest.raises(ConfigError) as raised:
        Kinds({"a": "clozing", "b": "flush", "c.*": ""}, "no")
    assert len(raised.value.problems) == 3
    assert "'a'" in str(raised.value)
    assert "clozing" in str(raised.value)
    assert "continuous" in str(raised.value)
