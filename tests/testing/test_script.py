"""What a scripted judge and a recording sink do."""

from __future__ import annotations

import pytest

from attend.core.types import Judgment
from attend.testing import Answer, fail, hang, permanent, scripted_judge, trial

pytestmark = pytest.mark.anyio

FLUSH = {"x": "flush"}


async def test_answers_come_in_order_and_the_last_one_repeats() -> None:
    answers: list[Answer] = [
        Judgment("interrupt"),
        {"route": "note", "probabilities": {"note": 0.9, "skip": 0.1}},
        "ask",
    ]
    async with trial(answers, kind=FLUSH) as t:
        for n in range(5):
            await t.push("s", {"id": str(n), "name": "x"})
        assert [each.route for each in t.sink.delivered] == ["interrupt", "note", "ask", "ask", "ask"]
        assert [call.window.event_ids for call in t.judge.calls] == [(str(n),) for n in range(5)]
        assert (t.sink.delivered[1].probabilities or {})["note"] == 0.9


async def test_a_failure_is_tried_again_and_a_permanent_one_is_a_dead_letter() -> None:
    answers: list[Answer] = [
        fail("busy"),
        {"fail": "busy still"},
        "queue",
        {"fail": "never", "permanent": True},
    ]
    async with trial(answers, kind=FLUSH) as t:
        await t.push("s", {"id": "1", "name": "x"})
        assert len(t.judge.calls) == 1
        await t.advance(1000)
        await t.advance(4000)
        assert [each.starts for each in t.sink.delivered] == [3]
        await t.push("s", {"id": "2", "name": "x"})
        assert [(letter.message, letter.starts) for letter in t.letters] == [("never", 1)]


async def test_a_failure_can_ask_for_a_wait() -> None:
    async with trial([fail(retry_after_ms=9000), "queue"], kind=FLUSH) as t:
        await t.push("s", {"id": "1", "name": "x"})
        await t.advance(8999)
        assert len(t.judge.calls) == 1
        await t.advance(1)
        assert len(t.judge.calls) == 2


async def test_a_judge_that_hangs_four_times_makes_a_dead_letter() -> None:
    async with trial(hang, kind=FLUSH) as t:
        await t.push("s", {"id": "1", "name": "x"})
        await t.advance(4 * 15_000 + 1000 + 4000 + 16_000)
        assert [(letter.message, letter.starts) for letter in t.letters] == [
            ("the judge did not answer within 15000 ms", 4)
        ]


async def test_a_sink_fails_as_often_as_it_was_told_to() -> None:
    async with trial("queue", kind=FLUSH) as t:
        t.sink.fail_next(2)
        await t.push("s", {"id": "1", "name": "x"})
        assert (len(t.sink.attempts), len(t.sink.delivered)) == (1, 0)
        await t.advance(5000)
        assert (len(t.sink.attempts), len(t.sink.delivered)) == (3, 1)
        assert len({each.id for each in t.sink.attempts}) == 1


async def test_a_permanent_answer_by_itself() -> None:
    async with trial(permanent("no"), kind=FLUSH) as t:
        await t.push("s", {"id": "1", "name": "x"})
        assert [letter.message for letter in t.letters] == ["no"]


BAD: list[tuple[list[Answer], str]] = [
    ([], "one answer at least"),
    ([{"rout": "queue"}], "no 'rout'"),
    ([{}], "route"),
    ([{"fail": 5}], "message"),
    ([{"route": "queue", "confidence": "high"}], "confidence"),
]


@pytest.mark.parametrize(("answers", "why"), BAD)
def test_an_answer_that_cannot_be_read_is_refused(answers: list[Answer], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        scripted_judge(answers)
