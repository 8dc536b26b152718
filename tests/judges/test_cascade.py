"""A cheap judge first, a dearer one where it is unsure."""

from __future__ import annotations

import pytest

from attend.core.types import Judgment, Reason
from attend.errors import ConfigError
from attend.judges.base import Judge, JudgeInput
from attend.judges.cascade import cascade
from attend.judges.jev import jev_judge
from attend.judges.rule import rule
from tests.judges.fakes.jev import KEY, FakeJev
from tests.judges.windows import asked, window

pytestmark = pytest.mark.anyio


def always(judgment: Judgment, called: list[str]) -> Judge:
    async def judge(input: JudgeInput, /) -> Judgment:
        called.append(judgment.judge or "")
        return judgment

    return judge


@pytest.mark.parametrize(
    ("first", "goes_on"),
    [
        (Judgment("note", judge="a"), False),
        (Judgment("note", confidence=0.6, judge="a"), False),
        (Judgment("note", confidence=0.59, judge="a"), True),
        (Judgment("note", {"note": 0.99, "ask": 0.01}, confidence=0.1, judge="a"), True),
        (Judgment("note", {"note": 0.01, "ask": 0.99}, confidence=0.9, judge="a"), False),
        (Judgment("note", {"note": 0.7, "ask": 0.3}, judge="a"), False),
        (Judgment("note", {"note": 0.5, "ask": 0.5}, judge="a"), True),
        # Over the routes on offer, and as shares of 1.
        (Judgment("note", {"note": 0.2, "ask": 0.1, "page": 0.9}, judge="a"), False),
        (Judgment("note", {"note": 0.0}, judge="a"), False),
    ],
)
async def test_the_next_is_asked_only_when_the_last_is_unsure(first: Judgment, goes_on: bool) -> None:
    called: list[str] = []
    second = Judgment("ask", confidence=0.1, judge="b")
    judge = cascade(always(first, called), always(second, called), below=0.6)
    judgment = await judge(asked())
    assert called == (["a", "b"] if goes_on else ["a"])
    # Whoever is last is believed, sure or not.
    assert judgment is (second if goes_on else first)


async def test_a_rule_comes_before_a_server_and_errors_come_out(fake_jev: FakeJev) -> None:
    jev = jev_judge(KEY, endpoint=f"{fake_jev.url}/v1/systemone")
    judge = cascade(rule, jev)
    assert judge.context_tokens == 32_000
    flushed = await judge(asked(window(reason=Reason.FLUSH)))
    assert (flushed.route, flushed.judge) == ("interrupt", "rule")
    assert fake_jev.requests == []
    asked_on = await judge(asked(window(reason=Reason.CLOSING)))
    assert asked_on.judge != "rule", "it only guesses that a window which is no flush may wait its turn"
    assert len(fake_jev.requests) == 1

    async def broken(input: JudgeInput, /) -> Judgment:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await cascade(broken, jev)(asked())
    await judge.aclose()


def test_its_context_is_the_smallest_declared() -> None:
    small, large = jev_judge("k", context_tokens=512), jev_judge("k", long_context=True)
    assert cascade(rule, large, small).context_tokens == 512
    assert cascade(rule).context_tokens is None


def test_what_cannot_be_a_cascade_is_refused() -> None:
    with pytest.raises(ConfigError):
        cascade()
    for below in (0.0, -1.0, 1.1, float("nan")):
        with pytest.raises(ConfigError):
            cascade(rule, below=below)
