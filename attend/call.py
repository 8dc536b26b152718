"""Carrying out the calls that a step asks for: each ends as the input that says what came of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar, assert_never

import msgspec
from msgspec import Struct

from attend.clock import Clock, SystemClock
from attend.core import codec
from attend.core.account import Asked
from attend.core.effect import Bury, Call, Deliver
from attend.core.effect import Judge as JudgeCall
from attend.core.input import Delivered, Failed, Judged, Lost, Released
from attend.core.rules import Rules
from attend.core.types import Decision, Judgment, Lane
from attend.errors import AttendError, PermanentError, StoreUnavailableError, is_down
from attend.judges.base import Judge, JudgeImage, JudgeInput
from attend.kept import decision_of, letter_of
from attend.link import Link
from attend.sinks.base import DeadLetterHandler, Sink
from attend.store.base import ScopeStore, StoredWindow
from attend.trace import CaptureFailed, Observer

MESSAGE_CHARS = 500
LONGEST_RETRY_AFTER_MS = 86_400_000
"""A day: who asks for a longer wait is taken to have meant that."""

LEASE_MARGIN_MS = 250
"""A delivery ends this much before its lease, so that what came of it is committed within it."""

CAPTURE_TIMEOUT_MS = 500

Context = Callable[[str], Awaitable[Any] | Any]
"""Live facts about a scope for the judge: any JSON value. Async, or quick."""

Capture = Callable[[str], "Awaitable[JudgeImage | list[JudgeImage]] | JudgeImage | list[JudgeImage]"]
"""Pictures of what is going on in a scope, for the judge. Async, or quick."""

Ended = Judged | Delivered | Failed | Lost | Released

T = TypeVar("T")


class CallLostError(AttendError):
    """Raised by an `Isolation` when the process that it ran the call in died."""


class Isolation(Protocol):
    """Makes calls in a process of their own: for windows that lost their worker before.

    Each raises `CallLostError` when that process died, and what the judge or sink raised otherwise.
    """

    async def judge(self, input: JudgeInput, timeout_ms: int) -> Judgment:
        """Ask the judge; its time runs from when the process is up."""
        ...

    async def deliver(self, decision: Decision) -> None:
        """Hand the decision to the sink."""
        ...


class Calls(Struct, frozen=True, kw_only=True):
    """What is called, and what a judge is told beside the window."""

    judge: Judge
    sink: Sink | None = None
    dead_letter: DeadLetterHandler | None = None
    guidance: str | None = None
    predicates: Mapping[str, str] = {}
    context: Context | None = None
    capture: Capture | None = None
    capture_timeout_ms: int = CAPTURE_TIMEOUT_MS
    isolation: Isolation | None = None


class Caller:
    """Makes calls under the time their lease leaves them."""

    def __init__(self, calls: Calls, store: ScopeStore, clock: Clock, link: Link, observe: Observer) -> None:
        self.calls = calls
        self._store = store
        self._clock = clock
        self._link = link
        self._observe = observe

    async def carry_out(self, scope: str, call: Call, rules: Rules) -> Ended:
        """Make a call, whatever it is. Raises `CancelledError` where this task is cancelled, and what ends a process.

        `rules` are the scope's, by which the lease was given: another process's may be newer than this one's own.
        A call whose lease has run out already, or runs out while the store is away, is handed back.
        """
        lane = lane_of(call)
        id, token = (call.window.id if isinstance(call, JudgeCall) else call.id), call.token
        left_ms = call.leased_until - self._clock.now()
        if left_ms <= 0:
            return Released(lane, id, token)
        try:
            match call:
                case JudgeCall():
                    return Judged(id, token, *await self._judge(scope, call, left_ms, rules))
                case Deliver():
                    await self._deliver(call, rules)
                case Bury():
                    await self._bury(scope, call, rules)
                case _:
                    assert_never(call)
        except CallLostError:
            return Lost(lane, id, token)
        except StoreUnavailableError:
            return Released(lane, id, token)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            # A judge or sink may raise anything, also what its own cancelled task left it with: it is its failure.
            return _failed(lane, id, token, error)
        return Delivered(lane, id)

    async def _judge(self, scope: str, call: JudgeCall, left_ms: int, rules: Rules) -> tuple[Judgment, Asked]:
        facts, images = await asyncio.gather(self._facts(scope), self._images(scope))
        asked = JudgeInput(
            scope=scope,
            window=call.window,
            routes=call.routes,
            guidance=self.calls.guidance,
            predicates=dict(self.calls.predicates),
            facts=facts,
            images=images,
            recent=call.recent,
            starts=call.starts,
        )
        timeout_ms, began_at = rules.judge_timeout_ms, self._clock.now()
        if call.suspect and self.calls.isolation is not None:
            judgment = await self._within(left_ms, "the judge", self.calls.isolation.judge(asked, timeout_ms))
        else:
            judgment = await self._within(timeout_ms, "the judge", self.calls.judge(asked))
        return _read(judgment), Asked.of(self._clock.now() - began_at, facts, len(images))

    async def _deliver(self, call: Deliver, rules: Rules) -> None:
        sink = self.calls.sink
        if sink is None:
            raise StoreUnavailableError("this process has no sink")
        stored = await self._window(call.id, call.leased_until)
        decision = None if stored is None else decision_of(stored)
        if stored is None or decision is None:
            raise PermanentError("its window is no longer stored")
        if stored.done:
            return
        if call.suspect and self.calls.isolation is not None:
            delivery = self.calls.isolation.deliver(decision)
        else:
            delivery = sink.deliver(decision)
        await self._within(self._left(call, rules), "the sink", delivery)

    async def _bury(self, scope: str, call: Bury, rules: Rules) -> None:
        handler = self.calls.dead_letter
        if handler is None:
            raise StoreUnavailableError("this process has no dead-letter handler")
        stored = await self._window(call.window, call.leased_until)
        if stored is not None and stored.done:
            return
        # A letter is handed over also when its window is gone: nobody else will hear of it.
        letter = letter_of(scope, call.id, call.stage, call.message, call.starts, call.at, stored)
        await self._within(self._left(call, rules), "the dead-letter handler", handler(letter))

    def _left(self, call: Deliver | Bury, rules: Rules) -> float:
        lease_ms = rules.delivery_timeout_ms
        margin_ms = min(LEASE_MARGIN_MS, lease_ms / 4)
        return max(1.0, call.leased_until - self._clock.now() - margin_ms)

    async def _window(self, id: str, until: int) -> StoredWindow | None:
        delay_ms = 50.0
        while True:
            try:
                stored = await self._store.window(id)
            except StoreUnavailableError as error:
                self._link.failed(error)
                if self._clock.now() + delay_ms >= until:
                    raise
                await asyncio.sleep(delay_ms / 1000)
                delay_ms = min(delay_ms * 2, 1000)
            else:
                self._link.ok()
                return stored

    async def _facts(self, scope: str) -> Any:
        return None if self.calls.context is None else await self._live(scope, "context", self.calls.context)

    async def _images(self, scope: str) -> tuple[JudgeImage, ...]:
        if self.calls.capture is None:
            return ()
        found: JudgeImage | list[JudgeImage] | None
        found = await self._live(scope, "capture", self.calls.capture)
        if found is None:
            return ()
        return (found,) if isinstance(found, JudgeImage) else tuple(found)

    async def _live(self, scope: str, what: str, ask: Callable[[str], Awaitable[T] | T]) -> T | None:
        try:
            answer = ask(scope)
            if inspect.isawaitable(answer):
                return await self._within(self.calls.capture_timeout_ms, f"{what}()", answer)
        except Exception as error:  # noqa: BLE001 - the judge is called without it
            self._observe(CaptureFailed(scope, what, _message(error)))
            return None
        return answer

    async def _within(self, ms: float, who: str, call: Awaitable[T]) -> T:
        """The call's outcome. Raises `TimeoutError` that says who was late, and what the call raises."""
        if isinstance(self._clock, SystemClock):
            timeout = asyncio.timeout(ms / 1000)
            try:
                async with timeout:
                    return await call
            except TimeoutError as error:
                if timeout.expired():
                    raise TimeoutError(f"{who} did not answer within {int(ms)} ms") from error
                raise
        return await self._on_clock(ms, who, call)

    async def _on_clock(self, ms: float, who: str, call: Awaitable[T]) -> T:
        # A clock that is not the machine's says itself when the time is over.
        running = asyncio.ensure_future(call)
        timer = asyncio.ensure_future(self._clock.sleep(ms))
        try:
            await asyncio.wait((running, timer), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            raise TimeoutError(f"{who} did not answer within {int(ms)} ms")
        finally:
            for task in (running, timer):
                task.cancel()
            await asyncio.gather(running, timer, return_exceptions=True)


def lane_of(call: Call) -> Lane:
    """The lane that a call belongs to."""
    match call:
        case JudgeCall():
            return Lane.SETTLE
        case Deliver():
            return Lane.DELIVER
        case Bury():
            return Lane.BURY
        case _:
            assert_never(call)


_judgments = msgspec.msgpack.Decoder(Judgment)


def _read(answer: object) -> Judgment:
    if not isinstance(answer, Judgment):
        raise TypeError(f"the judge returned {type(answer).__name__}, it must return a Judgment")
    try:
        # What is kept is what can be read again: a struct does not check its fields when it is made.
        return _judgments.decode(codec.encode(answer))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the judge's answer cannot be read: {error}") from error


def _is_cancelled() -> bool:
    """Whether somebody asked for this task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(lane: Lane, id: str, token: int, error: BaseException) -> Failed:
    after = getattr(error, "retry_after_ms", None)
    retry_after_ms = int(after) if isinstance(after, (int, float)) and after > 0 else 0
    return Failed(
        lane,
        id,
        token,
        _message(error),
        permanent=isinstance(error, PermanentError),
        down=is_down(error),
        retry_after_ms=min(retry_after_ms, LONGEST_RETRY_AFTER_MS),
    )


def _message(error: BaseException) -> str:
    text = str(error).encode(errors="replace").decode()
    return text[:MESSAGE_CHARS] or type(error).__name__
