"""Hosted judges that stay down under attend itself: what is decided by rule, what is not, and when it is asked again."""

from __future__ import annotations

import pytest

from attend.core.rules import OnJudgeDown
from attend.judges.jev import Jev
from tests.judges.fakes import jev
from tests.judges.fakes.jev import FakeJev
from tests.judges.fakes.server import Answer
from tests.judges.test_ladder import running, said

pytestmark = pytest.mark.anyio

RULE = OnJudgeDown.RULE


@pytest.mark.parametrize(
    ("answers", "starts"),
    [
        ([jev.refused(401, "authentication_error")], 1),
        ([jev.refused(429, "billing_error")], 1),
        ([jev.refused(400, "api_usage_error", "Unknown model: x")], 1),
        ([jev.refused(529, "overloaded_error")] * 4, 4),
        ([Answer(200, {"answers": {}})] * 4, 4),
        ([jev.refused(429, "rate_limit_error", retry_after="3600")], 1),
    ],
)
async def test_a_judge_that_is_down_is_stood_in_for(
    fake_jev: FakeJev, jev_of: Jev, answers: list[Answer], starts: int
) -> None:
    fake_jev.answers(*answers)
    async with running(jev_of, on_judge_down=RULE) as (app, heard):
        await app.push("s", [said()])
        await heard.until(lambda: heard.decisions)
        found = heard.decisions[0]
        assert (found.route, found.degraded, found.judge, found.starts) == ("interrupt", True, "rule", starts)
        await app.push("s", [said("again")])
        await heard.until(lambda: len(heard.decisions) == 2)
        assert (heard.decisions[1].route, heard.decisions[1].degraded) == ("queue", False)
        assert heard.letters == []


async def test_a_window_that_is_refused_is_a_dead_letter_all_the_same(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(*[jev.refused(400, "max_tokens_exceeded")] * 2)
    async with running(jev_of, on_judge_down=RULE) as (app, heard):
        await app.push("s", [said()])
        await heard.until(lambda: heard.letters)
        assert heard.decisions == []


async def test_a_wait_of_hours_is_kept_to_where_no_rule_stands_in(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(jev.refused(503, "overloaded_error", retry_after="7200"))
    async with running(jev_of) as (app, _):
        await app.push("s", [said()])
        due = 0
        while due < app.clock.now() + 3_600_000:
            state = await app.engine.state("s")
            due = 0 if state is None or state.slot is None else state.slot.attempt.due_at
            await app.clock.sleep(5)
        assert len(fake_jev.requests) == 1
        assert due <= app.clock.now() + 7_200_000
