"""Dead letters listed, shown, retried and dropped through the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attend.app import Attend
from attend.clock import SystemClock
from attend.core.letter import LetterOutcome
from attend.core.rules import Rules
from attend.core.types import Decision, Judgment, Stage
from attend.engine import Engine
from attend.errors import OutboxFullError, PermanentError
from attend.judges.base import JudgeInput
from attend.judges.rule import rule
from attend.letters import Letters
from attend.store.base import ScopeStore
from tests.engine.world import running, until

pytestmark = pytest.mark.anyio

NewStore = Callable[[], ScopeStore]

KINDS = {"u": "flush"}


class Moods:
    """A judge and a sink that refuse for good until they are told to take things."""

    def __init__(self, *, judge: bool = True, sink: bool = True) -> None:
        self.judge_refuses = judge
        self.sink_refuses = sink
        self.delivered: list[Decision] = []

    async def judge(self, input: JudgeInput) -> Judgment:
        """Refuse, or do as `rule` does."""
        if self.judge_refuses:
            raise PermanentError("the judge will not")
        return await rule(input)

    async def deliver(self, decision: Decision) -> None:
        """Refuse, or take it."""
        if self.sink_refuses:
            raise PermanentError("the sink will not")
        self.delivered.append(decision)


def app_of(store: ScopeStore, moods: Moods, **settle: int) -> Attend:
    return Attend(store=store, kind=KINDS, judge=moods.judge, sink=moods.deliver, settle=settle)


async def listed(app: Attend) -> list[str]:
    return [letter.id async for letter in app.letters.all()]


async def wait_for(app: Attend, count: int) -> list[str]:
    """The letters, once there are so many."""
    for _ in range(3000):
        found = await listed(app)
        if len(found) == count:
            return found
        await app.clock.sleep(10)
    raise AssertionError(f"there are {len(await listed(app))} letters, not {count}")


async def test_letters_of_all_scopes_are_listed_and_shown(new_store: NewStore) -> None:
    moods = Moods()
    async with running(app_of(new_store(), moods)) as app:
        for n in range(3):
            await app.push(f"s{n}", [{"id": f"e{n}", "name": "u", "text": f"hello {n}"}])
            await wait_for(app, n + 1)
        letters = [letter async for letter in app.letters.all()]
        assert [(each.scope, each.stage, each.starts, each.event_count) for each in letters] == [
            (f"s{n}", Stage.JUDGE, 1, 1) for n in range(3)
        ]
        assert [letter.scope async for letter in app.letters.all("s1")] == ["s1"]
        shown = await app.letters.show(letters[1].id)
        assert shown is not None
        assert (shown.scope, shown.message, shown.decision) == ("s1", "the judge will not", None)
        assert [event.text for event in shown.window.events] == ["hello 1"]
        assert await app.letters.show("dead-none") is None


async def test_a_retried_window_is_judged_and_a_retried_decision_delivered(new_store: NewStore) -> None:
    moods = Moods()
    async with running(app_of(new_store(), moods)) as app:
        await app.push("s", [{"id": "a", "name": "u"}])
        [letter] = await wait_for(app, 1)
        moods.judge_refuses = False
        assert await app.letters.retry(letter) is LetterOutcome.DONE
        # It goes through the judge, and meets the sink.
        for _ in range(3000):
            shown = await app.letters.show(letter)
            if shown is not None and shown.stage is Stage.SINK:
                break
            await app.clock.sleep(10)
        else:
            raise AssertionError("it never came to the sink")
        assert shown.decision is not None
        assert letter == f"dead-{shown.decision.id}"
        moods.sink_refuses = False
        assert await app.letters.retry(letter) is LetterOutcome.DONE
        await until(lambda: len(moods.delivered) == 1)
        assert moods.delivered[0].id == shown.decision.id
        assert await wait_for(app, 0) == []
        assert await app.letters.retry(letter) is LetterOutcome.UNKNOWN


async def test_a_full_lane_takes_events_again_when_it_is_drained(new_store: NewStore) -> None:
    moods = Moods()
    async with running(app_of(new_store(), moods, max_dead_letters=1)) as app:
        await app.push("s", [{"id": "a", "name": "u"}])
        [letter] = await wait_for(app, 1)
        with pytest.raises(OutboxFullError, match="dead letters"):
            await app.push("s", [{"id": "b", "name": "u"}])
        assert await app.letters.drop(letter) is LetterOutcome.DONE
        assert (await app.push("s", [{"id": "b", "name": "u"}])).accepted == 1
        assert await app.store.window(letter.removeprefix("dead-")) is None


async def test_a_tool_leaves_the_rules_of_a_store_alone(new_store: NewStore) -> None:
    moods = Moods()
    async with running(app_of(new_store(), moods, max_dead_letters=7)) as app:
        await app.push("s", [{"id": "a", "name": "u"}])
        [letter] = await wait_for(app, 1)
        store = new_store()
        tool = Engine(store, Rules(), SystemClock(), register=False)
        await tool.start()
        assert await Letters(tool).drop(letter) is LetterOutcome.DONE
        await tool.close()
        state = await app.engine.state("s")
        assert state is not None
        assert app.engine.book.of(state).max_dead_letters == 7
        assert state.generation == app.engine.book.generation
