"""The scheduler: claims scopes that are due, makes the calls their steps ask for, commits what came of them."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable

from attend.batch import Applied
from attend.call import Caller, Calls, lane_of
from attend.core.due import due_at
from attend.core.effect import Call
from attend.core.effect import Judge as JudgeCall
from attend.core.input import Delivered, Judged, Released, Ticked
from attend.core.rules import Rules
from attend.core.state import ScopeState
from attend.core.types import Lane
from attend.core.work import work_of
from attend.draft import Claim
from attend.engine import Engine
from attend.errors import AttendError, ConflictError, StoreError, StoreUnavailableError
from attend.lane import LaneSlots, Run

logger = logging.getLogger("attend")

CLAIM_MS = 2000
"""How long a claim lasts: what a worker that dies holding one costs."""

TICK_MS = 1000
"""How often lanes claim without having been woken: a wake-up may be lost."""

LEFT_OUT_MS = 100
"""How long to listen at most while a lane without a free slot is left out."""

HAND_BACK_MS = 2000
"""How long a shutdown waits for commits, beyond its grace."""

SLOTS = 32

ASIDE = 8
"""How many deliveries that take long may go on without a slot, for each slot there is."""


class Runner:
    """Runs the lanes that this process can serve, with `slots` runs in each at once.

    Settling always; delivering where there is a sink, burying where there is a dead-letter handler. In these two a
    call that takes long is set aside, `ASIDE` times the slots at most: a receiver that hangs for some scopes is no
    reason for the others to wait. Judge calls are not: their slots are what bounds how many there are at once.
    """

    def __init__(
        self,
        engine: Engine,
        calls: Calls,
        *,
        slots: int = SLOTS,
        grace_ms: int = 3000,
        hand_back_ms: int = HAND_BACK_MS,
    ) -> None:
        self._engine = engine
        self._store = engine.store
        self._clock = engine.clock
        self._link = engine.link
        self._isolates = calls.isolation is not None
        self._caller = Caller(calls, engine.store, engine.clock, engine.link, engine.observe)
        served = [Lane.SETTLE]
        if calls.sink is not None:
            served.append(Lane.DELIVER)
        if calls.dead_letter is not None:
            served.append(Lane.BURY)
        self._lanes = {
            lane: LaneSlots(lane, slots, engine.clock, 0 if lane is Lane.SETTLE else ASIDE * slots)
            for lane in served
        }
        self._grace_ms = grace_ms
        self._hand_back_ms = hand_back_ms
        self._runs: dict[asyncio.Task[None], Run] = {}
        self._turn = asyncio.Lock()
        self._awaiting_turn = 0
        self._stopping = False
        self._damage = ""

    @property
    def runs(self) -> int:
        """How many claimed scopes are in hand."""
        return len(self._runs)

    async def run(self) -> None:
        """Serve until cancelled. Then calls in hand get the grace to end, and the leases of others are handed back."""
        self._stopping = False
        loops = [asyncio.create_task(self._serve(lane)) for lane in self._lanes.values()]
        loops += [asyncio.create_task(self._listen()), asyncio.create_task(self._tick())]
        try:
            await asyncio.gather(*loops)
        finally:
            await self._drain(loops)

    async def _serve(self, lane: LaneSlots) -> None:
        while not self._stopping:
            await lane.wake.wait()
            lane.wake.clear()
            asked = lane.free
            if asked == 0 or self._stopping:
                continue
            now = self._clock.now()
            try:
                claimed = await self._store.claim(lane.lane, now, asked, now + CLAIM_MS)
            except StoreError as error:
                await self._away(error)
                lane.wake.set()
                continue
            self._link.ok()
            lane.more = len(claimed.scopes) == asked
            lane.wake_at(claimed.next_at if claimed.next_at is None or claimed.next_at > now else None)
            for scope in claimed.scopes:
                self._begin(Run(lane, scope, now, now + CLAIM_MS))

    async def _listen(self) -> None:
        """Wait for wake tokens, for all lanes that have a slot."""
        lanes = list(self._lanes.values())
        while True:
            listening = [lane.lane for lane in lanes if lane.free]
            if not listening:
                await asyncio.sleep(LEFT_OUT_MS / 1000)
                continue
            timeout_ms = TICK_MS if len(listening) == len(lanes) else LEFT_OUT_MS
            try:
                woken = await self._store.sleep(listening, timeout_ms)
                if woken is not None and not self._lanes[woken].free:
                    await self._store.pass_on(woken)
                elif woken is not None:
                    self._lanes[woken].wake.set()
            except StoreError as error:
                await self._away(error)

    async def _tick(self) -> None:
        """Wake all lanes once a second without a token, also while the listener waits on a link that died silently."""
        while True:
            await asyncio.sleep(TICK_MS / 1000)
            for lane in self._lanes.values():
                lane.wake.set()

    async def _away(self, error: StoreError) -> None:
        if isinstance(error, StoreUnavailableError):
            self._link.failed(error)
        elif str(error) != self._damage:
            # Somebody's hand was in it, and may put it right: the lanes are there when it does.
            logger.error("the store is damaged, trying again: %s", error)
            self._damage = str(error)
        await asyncio.sleep(random.uniform(0.1, 1.0))

    def _begin(self, run: Run) -> None:
        run.lane.take()
        task = asyncio.create_task(self._run(run))
        self._runs[task] = run
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        run = self._runs.pop(task)
        run.lane.give()
        if run.turn:
            self._turn.release()
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, AttendError):
            # The claim ends by itself and the scope is tried again.
            logger.error("scope %r, lane %s: %s", run.scope, run.lane.lane, error)
        elif error is not None:
            logger.error("scope %r, lane %s", run.scope, run.lane.lane, exc_info=error)

    async def _run(self, run: Run) -> None:
        applied = await self._start(run)
        while applied is not None:
            call = _own(applied.effects, run.lane.lane)
            if call is None:
                return
            applied = await self._call(run, call, self._engine.book.of(applied.state))

    async def _start(self, run: Run) -> Applied | None:
        """Tick the scope; None where there is nothing to go on with."""
        lane = run.lane.lane
        while True:
            ticked = Ticked(lane, takeover=self._link.quiet_ms == 0)
            claim = Claim(lane, run.now, run.until, lambda state: self._holds_off(run, state))
            try:
                applied = await self._engine.apply(run.scope, (ticked,), claim=claim, patient=True)
            except ConflictError:
                return None
            if applied.committed and not applied.held:
                return applied
            if not applied.held:
                await self._release(run, applied, self._due(run, applied))
                return None
            quiet_ms = self._link.quiet_ms
            if quiet_ms:
                await self._release(run, applied, self._clock.now() + quiet_ms)
                return None
            if not await self._take_turn(run, applied):
                return None

    def _holds_off(self, run: Run, state: ScopeState) -> bool:
        """Whether to leave the scope alone for now: its holder may be just back from where the store was, or its
        call needs a process of its own and it is not its turn."""
        work = work_of(state, run.lane.lane)
        if work is None:
            return False
        if work.attempt.leased_until is not None:
            return self._link.quiet_ms > 0 and work.attempt.expired(max(run.now, self._clock.now()))
        return self._isolates and work.attempt.suspect and not run.turn and run.lane.lane is not Lane.BURY

    async def _take_turn(self, run: Run, applied: Applied) -> bool:
        """Wait for the turn of a call that runs in a process of its own, one at a time, outside the lane's slots.

        The claim is renewed meanwhile; False where it was lost, or where too many wait here already.
        """
        if self._awaiting_turn >= run.lane.slots:
            await self._release(run, applied, self._clock.now() + TICK_MS)
            return False
        self._awaiting_turn += 1
        run.lane.give()
        turn = asyncio.ensure_future(self._turn.acquire())
        try:
            while True:
                await asyncio.wait((turn,), timeout=CLAIM_MS / 4000)
                if self._stopping:
                    await self._release(run, applied, self._clock.now())
                    return False
                if turn.done():
                    run.turn = True
                    run.now = max(run.now, self._clock.now())
                    return True
                until = self._clock.now() + CLAIM_MS
                if not await self._release(run, applied, until):
                    return False
                run.until = until
        finally:
            self._awaiting_turn -= 1
            run.lane.take()
            if not run.turn:
                if turn.done() and not turn.cancelled():
                    self._turn.release()
                turn.cancel()

    async def _call(self, run: Run, call: Call, rules: Rules) -> Applied | None:
        """Make a call and commit what came of it, and with it the start of the next, where one is due."""
        if self._stopping:
            await self._hand_back(run, call)
            return None
        run.calling = True
        try:
            with run.lane.calling(call.leased_until - self._clock.now()):
                ended = await self._caller.carry_out(run.scope, call, rules)
        except asyncio.CancelledError:
            await self._hand_back(run, call)
            raise
        finally:
            run.calling = False
        lane = run.lane.lane
        # Past its claim the scope waits for its turn like the others: one that always has more would keep the slot.
        in_time = self._clock.now() < run.until
        goes_on = isinstance(ended, (Judged, Delivered)) and in_time and not self._stopping and not run.turn
        inputs = (ended, Ticked(lane, takeover=False)) if goes_on else (ended,)
        return await self._engine.apply(run.scope, inputs, patient=True)

    async def _hand_back(self, run: Run, call: Call) -> None:
        id = call.window.id if isinstance(call, JudgeCall) else call.id
        released = Released(lane_of(call), id, call.token)
        await self._engine.apply(run.scope, (released,), patient=True)

    def _due(self, run: Run, applied: Applied) -> int | None:
        due = due_at(applied.state, self._engine.book.of(applied.state))
        return {Lane.SETTLE: due.settle, Lane.DELIVER: due.deliver, Lane.BURY: due.bury}[run.lane.lane]

    async def _release(self, run: Run, applied: Applied, due_at: int | None) -> bool:
        try:
            released = await self._store.release(run.lane.lane, run.scope, applied.version, run.until, due_at)
        except StoreUnavailableError as error:
            self._link.failed(error)
            return False
        self._link.ok()
        return released

    async def _drain(self, loops: Iterable[asyncio.Task[None]]) -> None:
        self._stopping = True
        for lane in self._lanes.values():
            lane.stop()
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
        grace = self._grace_ms / 1000
        try:
            # A token may have been on its way to the sleeper that was just cancelled.
            async with asyncio.timeout(grace + 0.1):
                for served in self._lanes:
                    await self._store.pass_on(served)
        except (StoreUnavailableError, TimeoutError):
            pass
        if self._runs:
            await asyncio.wait(self._runs, timeout=grace)
        for task, run in list(self._runs.items()):
            if run.calling:
                task.cancel()
        if self._runs:
            await asyncio.wait(self._runs, timeout=self._hand_back_ms / 1000)
        left = list(self._runs)
        for task in left:
            task.cancel()
        if left:
            # A judge or sink may swallow the cancellation, and is not waited for: its lease runs out.
            _, deaf = await asyncio.wait(left, timeout=max(1.0, self._hand_back_ms / 1000))
            if deaf:
                logger.warning("%d calls did not end when they were cancelled", len(deaf))


def _own(calls: Iterable[Call], lane: Lane) -> Call | None:
    return next((call for call in calls if lane_of(call) is lane), None)
