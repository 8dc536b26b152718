"""A scripted life on a fake clock over any store, in a process that can crash at any commit and start again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from attend.call import Calls
from attend.core.codec import decode_summary
from attend.core.due import due_at
from attend.core.input import Ended, Flushed, Input, Pushed
from attend.core.rules import Rules
from attend.core.types import DeadLetter, Decision, Event, Lane, Summary
from attend.engine import Engine
from attend.errors import StoreUnavailableError
from attend.judges.base import Judge
from attend.runner import Runner
from attend.store.base import Position, ScopeStore
from attend.testing.clock import FakeClock
from attend.testing.crash import Crash, CrashingStore

QUIET_ROUNDS = 3
"""How often in a row nothing may be found under way before it counts as done."""


class Push(Struct, frozen=True):
    """Push events to scopes at once; sent again until they are taken."""

    scopes: Mapping[str, Sequence[Event]]


class Request(Struct, frozen=True):
    """A flush or an end of one scope; sent again, under the same id, until it is taken."""

    scope: str
    input: Flushed | Ended


class Advance(Struct, frozen=True):
    """Let time pass, and then as much more as what is in hand takes."""

    ms: int


Act = Push | Request | Advance


class Outcome(Struct, frozen=True):
    """What a life led to: decisions in the log's order, deliveries and burials as the handlers had them."""

    decisions: tuple[Summary, ...]
    delivered: tuple[Decision, ...]
    buried: tuple[DeadLetter, ...]
    commits: int
    crashed: bool


class Harness:
    """Runs a script in a process that crashes at its `at`-th commit, if ever, and is started again then.

    The clock stands still but for the script, and for leases of the crashed process, which must run out.
    """

    def __init__(
        self,
        store: ScopeStore,
        rules: Rules,
        judge: Judge,
        *,
        at: int | None = None,
        crash: Crash = Crash.BEFORE,
        clock: FakeClock | None = None,
    ) -> None:
        self._bottom = store
        self._rules = rules
        self._judge = judge
        self._clock = clock or FakeClock()
        self._store = CrashingStore(store, at, crash)
        self._engine: Engine | None = None
        self._runner: Runner | None = None
        self._running: asyncio.Task[None] | None = None
        self._scopes: set[str] = set()
        self._crashed = False
        self._commits = 0
        self.delivered: list[Decision] = []
        self.buried: list[DeadLetter] = []

    async def run(self, script: Sequence[Act]) -> Outcome:
        """Run the script to its end, and what it set off too."""
        for act in script:
            match act:
                case Push(scopes):
                    await self._apply({scope: (Pushed(tuple(events)),) for scope, events in scopes.items()})
                case Request(scope, input):
                    await self._apply({scope: (input,)})
                case Advance(ms):
                    await self._advance(ms)
        await self._stop()
        return Outcome(
            await self._log(), tuple(self.delivered), tuple(self.buried), self._commits, self._crashed
        )

    async def deliver(self, decision: Decision) -> None:
        """The sink: it writes down what it is given."""
        self.delivered.append(decision)

    async def _bury(self, letter: DeadLetter) -> None:
        self.buried.append(letter)

    async def _alive(self) -> Engine:
        """The process, started again where it is gone."""
        if self._store.gone:
            self._crashed = True
            await self._stop()
            self._store = CrashingStore(self._bottom)
        if self._engine is None:
            # No quiet after connecting: the clock that leases run on does not move by itself.
            self._engine = Engine(self._store, self._rules, self._clock, patience_ms=60_000, quiet_ms=0)
            await self._engine.start()
            calls = Calls(judge=self._judge, sink=self, dead_letter=self._bury)
            self._runner = Runner(self._engine, calls, grace_ms=0, hand_back_ms=0)
            self._running = asyncio.create_task(self._runner.run())
        return self._engine

    async def _stop(self) -> None:
        self._commits += self._store.commits
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._engine is not None:
            await self._engine.close()
        self._engine = self._runner = self._running = None

    async def _apply(self, inputs: Mapping[str, Sequence[Input]]) -> None:
        self._scopes |= inputs.keys()
        left = dict(inputs)
        while left:
            engine = await self._alive()
            applying = asyncio.create_task(engine.apply_many(left))
            while not applying.done() and not self._store.gone:
                await asyncio.wait((applying,), timeout=0.005)
            if not applying.done():
                applying.cancel()
                await asyncio.gather(applying, return_exceptions=True)
                continue
            for scope, result in applying.result().items():
                if not isinstance(result, Exception):
                    del left[scope]
                elif not isinstance(result, StoreUnavailableError):
                    raise result
        await self._work_off()

    async def _advance(self, ms: int) -> None:
        target = self._clock.now() + ms
        while True:
            await self._work_off()
            due_at = await self._next_due()
            if due_at is None or due_at > target:
                break
            self._clock.move_to(due_at)
        self._clock.move_to(target)
        await self._work_off()
        while await self._in_hand():
            due_at = await self._next_due()
            assert due_at is not None, "work in hand is due some time"
            self._clock.move_to(due_at)
            await self._work_off()

    async def _next_due(self) -> int | None:
        now = self._clock.now()
        # A claim of nothing tells when the lane's next scope is due.
        heads = [(await self._bottom.claim(lane, now, 0, now)).next_at for lane in Lane]
        return min((head for head in heads if head is not None), default=None)

    async def _work_off(self) -> None:
        """Wait until nothing is under way and nothing is due, starting the process again where it crashed."""
        quiet = 0
        while quiet < QUIET_ROUNDS:
            await self._alive()
            assert self._runner is not None
            due_at = await self._next_due()
            busy = self._runner.runs > 0 or (due_at is not None and due_at <= self._clock.now())
            quiet = 0 if busy or self._store.gone else quiet + 1
            await asyncio.sleep(0.001)

    async def _in_hand(self) -> bool:
        engine = await self._alive()
        for scope in self._scopes:
            state = await engine.state(scope)
            if state is None:
                continue
            due = due_at(state, self._rules)
            # What is overdue was claimed by the process that crashed, and its claim must run out.
            overdue = any(
                at is not None and at <= self._clock.now() for at in (due.settle, due.deliver, due.bury)
            )
            if overdue or state.slot is not None or state.outbox or state.dead:
                return True
        return False

    async def _log(self) -> tuple[Summary, ...]:
        log = self._bottom.log
        place: Position = await log.start()
        rows: list[Summary] = []
        while True:
            page = await log.read(place, 100)
            rows += [decode_summary(row.summary) for row in page.rows]
            place = page.position
            if not page.more:
                return tuple(rows)
