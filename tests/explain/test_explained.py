"""What is kept of a decision, and what is told of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from attend.app import Attend
from attend.core.explain import Arriving, Explanation
from attend.core.types import Judgment, Summary, letter_id
from attend.explained import explanation_of
from attend.testing import Trial, fail, permanent, trial
from tests.engine.world import logged

pytestmark = pytest.mark.anyio

BEGAN = 1_700_000_000_000
KINDS = {"say": "flush", "done": "closing", "type": "continuous", "look": "passive"}


def _context(scope: str) -> dict[str, str]:
    return {"turn": "idle", "of": scope}


async def explained(app: Attend, id: str) -> Explanation:
    """An explanation, as it is after a way over the wire."""
    found = await explanation_of(app.engine, id)
    assert found is not None
    return msgspec.json.decode(msgspec.json.encode(found), type=Explanation)


async def only(t: Trial) -> tuple[Summary, Explanation]:
    """The one decision in the log, and its explanation."""
    [row] = await logged(t.app.store)
    return row, await explained(t.app, row.id)


def tried(starts: Any) -> list[tuple[int, str, str]]:
    """Earlier starts: when since the beginning, how they ended, what they said."""
    return [(each.at - BEGAN, each.end.value, each.message) for each in starts]


async def test_everything_about_a_decision_is_told() -> None:
    answer = Judgment(
        "queue", {"interrupt": 0.6, "ask": 0.1, "queue": 0.3}, 0.8, {"asked": 0.9}, judge="scripted"
    )
    async with trial(
        [fail("busy"), answer],
        kind=KINDS,
        act_threshold=0.65,
        predicates={"asked": "Was it asked for?"},
        context=_context,
    ) as t:
        t.sink.fail_next(1)
        await t.push("s", {"id": "1", "name": "log", "at": 5, "text": "x" * 300})
        await t.advance(100)
        await t.push("s", {"id": "2", "name": "done"})
        await t.advance(500 + 1000)
        row, found = await only(t)
        waiting = found.delivery
        assert (waiting.status, waiting.starts, (waiting.next_at or 0) - BEGAN) == (Arriving.WAITING, 2, 2600)
        assert tried(waiting.past) == [(1600, "failed", "told to fail")]
        await t.advance(5000)
        row, found = await only(t)

    assert (found.decision_id, found.scope, found.route, found.notice) == (
        row.id,
        "s",
        "interrupt",
        row.notice,
    )
    settled = found.settled
    assert settled.why == "done (2) closed something, and no closing event came for 500 ms after it"
    assert (settled.at - BEGAN, settled.reason, settled.limit, settled.dropped) == (600, "closing", 500, 0)
    assert [(e.id, e.at, e.accepted_at - BEGAN, e.before_settle_ms) for e in found.events] == [
        ("1", 5, 0, 600),
        ("2", BEGAN + 100, 100, 500),
    ]
    assert [len(event.text or "") for event in found.events] == [200, 0]

    judging = found.judging
    assert judging is not None
    assert judging.offered == ["interrupt", "queue", "note", "ask", "skip", "wait"]
    assert (judging.judge, judging.route, judging.confidence, judging.predicates) == (
        "scripted",
        "queue",
        0.8,
        {"asked": 0.9},
    )
    assert judging.threshold is not None
    assert judging.threshold.changed
    assert judging.threshold.threshold == 0.65
    assert judging.threshold.act_share == pytest.approx(0.7)
    assert judging.facts == {"turn": "idle", "of": "s"}
    assert (judging.ms, judging.starts, judging.failures, judging.losses) == (0, 2, 1, 0)
    assert tried(judging.past) == [(600, "failed", "busy")]

    assert found.logged is not None
    assert (found.logged.at - BEGAN, found.logged.n) == (1600, 1)
    assert (found.delivery.status, found.delivery.starts) == (Arriving.DELIVERED, 2)
    assert (found.delivery.at or 0) - BEGAN == 2600


async def test_verdicts_to_wait_are_told() -> None:
    async with trial(["wait", fail("busy"), "note"], kind=KINDS) as t:
        await t.push("s", {"id": "1", "name": "done"})
        await t.advance(500)
        await t.push("s", {"id": "2", "name": "say"})
        await t.advance(1000)
        _, found = await only(t)
    assert (found.settled.waits, found.settled.reason) == (1, "flush")
    assert found.settled.why == "say (2) was addressed to the agent: it settles at once"
    assert found.judging is not None
    assert found.judging.offered is not None
    assert "wait" not in found.judging.offered
    assert tried(found.judging.past) == [(500, "wait", ""), (500, "failed", "busy")]


async def test_a_dead_letter_is_explained_by_its_own_id_and_the_decisions() -> None:
    async with trial([fail("busy"), permanent("never")], kind=KINDS, dead_letter=None) as t:
        await t.push("s", {"id": "1", "name": "say"})
        await t.advance(1000)
        [dead] = (await t.app.engine.stored("s")).state.dead
        found = await explained(t.app, dead.id)
        assert await explained(t.app, dead.window) == found
    assert (found.route, found.judging, found.logged) == (None, None, None)
    delivery = found.delivery
    assert (delivery.status, delivery.stage, delivery.message, delivery.starts) == (
        Arriving.DEAD,
        "judge",
        "never",
        2,
    )
    assert tried(delivery.past) == [(0, "failed", "busy"), (1000, "failed", "never")]
    assert dead.id == letter_id(dead.window)


async def test_a_decision_no_sink_would_take_was_buried() -> None:
    async with trial("queue", kind=KINDS) as t:
        t.sink.fail_next(4)
        await t.push("s", {"id": "1", "name": "say"})
        await t.advance(60_000)
        _, found = await only(t)
        assert [letter.stage for letter in t.letters] == ["sink"]
    assert found.delivery.status is Arriving.BURIED
    assert [each[1] for each in tried(found.delivery.past)] == ["failed"] * 4


async def test_without_a_sink_a_decision_is_in_the_log() -> None:
    async with trial("queue", kind=KINDS, sink=None) as t:
        await t.push("s", {"id": "1", "name": "say"})
        _, found = await only(t)
        assert found.delivery.status is Arriving.LOGGED
        assert await explanation_of(t.app.engine, "nothing") is None


async def test_facts_that_are_too_many_or_no_json_are_not_kept() -> None:
    facts: list[Any] = ["x" * 9000, object(), None]

    def some(scope: str) -> Any:
        return facts.pop(0)

    async with trial("queue", kind=KINDS, context=some) as t:
        for n in range(3):
            await t.push("s", {"id": str(n), "name": "say"})
        rows = await logged(t.app.store)
        found = [(await explained(t.app, row.id)).judging for row in rows]
    assert [(one.facts, one.facts_bytes) for one in found if one] == [(None, 9002), (None, 0), (None, 0)]


async def test_what_is_kept_does_not_grow_the_log() -> None:
    def much(scope: str) -> str:
        return "x" * 8000

    async with trial([*[fail("x" * 500)] * 3, "queue"], kind=KINDS, context=much) as t:
        await t.push("s", {"id": "1", "name": "say"})
        await t.advance(60_000)
        page = await t.app.store.log.read(await t.app.store.log.start(), 10)
        assert len(page.rows[0].summary) < 400
        _, found = await only(t)
        assert found.judging is not None
        assert [len(start.message) for start in found.judging.past] == [200] * 3


@pytest.mark.parametrize(
    ("events", "reason", "why"),
    [
        (
            ["log", "type"],
            "continuous",
            "type (1) went on, and no continuous event came for 1000 ms after it",
        ),
        (["look"], "passive", "look (0) was the last look, and none came for 4000 ms after it"),
        (["done"] * 4, "overflow", "it held more than 3 acts: no act is ever shed, so it settles"),
    ],
)
async def test_why_windows_settle(events: list[str], reason: str, why: str) -> None:
    async with trial("queue", kind=KINDS, settle={"max_events": 3}) as t:
        await t.push("s", *({"id": str(n), "name": name} for n, name in enumerate(events)))
        await t.advance(60_000)
        _, found = await only(t)
        assert (found.settled.reason, found.settled.why) == (reason, why)


async def test_settles_that_were_asked_for() -> None:
    async with trial("queue", kind=KINDS) as t:
        await t.push("a", {"id": "1", "name": "log"})
        await t.app.end("a")
        await t.push("b", {"id": "1", "name": "done"})
        await t.app.end("b")
        await t.push("c", {"id": "1", "name": "log"})
        await t.app.flush("c")
        await t.clock.rest()
        whys = [(await explained(t.app, row.id)).settled.why for row in await logged(t.app.store)]
    assert whys == [
        "the producer said that the unit was over",
        "the producer said that the unit was over; its last closing event was done (1)",
        "somebody asked for a verdict with a flush",
    ]
