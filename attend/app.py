"""attend in your own process: push events, have decisions delivered."""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, Self

from attend.call import Calls, Capture, Context, Isolation
from attend.clock import Clock, SystemClock
from attend.configured import checked_judge, dead_letter_of, references, rules_of, sink_of, store_at
from attend.core.event import NewEvent, check_id, check_scope
from attend.core.input import Ended, Flushed, Pushed
from attend.core.kinds import Kinds
from attend.core.news import Signal
from attend.core.rules import OnJudgeDown, Rules
from attend.core.step import Settling, Taken
from attend.core.subscription import WebhookRules
from attend.core.types import DeadLetter, Decision, Event, Kind
from attend.engine import Applied, Engine
from attend.errors import EventError, OutboxFullError
from attend.feed import Feed
from attend.judges.base import Judge
from attend.judges.rule import rule
from attend.letters import Letters
from attend.news_feed import NewsFeed
from attend.runner import SLOTS, Runner
from attend.settings import Settings
from attend.sinks.base import Sink
from attend.source import Emit, Source, Sources
from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.trace import EventRefused, Observer
from attend.webhooks.beside import delivering

NewEvents = Iterable[NewEvent | Mapping[str, Any]]


class Attend:
    """Takes events, settles them into windows, has them judged and delivers the decisions.

    `kind` maps event names (or globs) to kinds, or is a function from a `NewEvent` to one. `sink` is an object
    with `deliver`, such as `routes(...)` makes, or `"log"`; without one decisions are only logged. `dead_letter`
    is called with each window that was given up on; without one they are kept. `settle` overrides the defaults of
    `Rules`. `guidance`, `predicates` and `context` tell the judge more, `capture` gives it pictures. Where the judge
    stays down, `on_judge_down="rule"` has windows decided by rule. `signals` maps the names of events to what news
    they are, beside those that are by default; None for one that is not. `webhooks` is how subscriptions over MCP are
    delivered. `observe` is told of every trace. Give every process that shares a store the same `kind`, `judge` and `settle`.

    Raises `ConfigError` with everything that is wrong.
    """

    def __init__(
        self,
        *,
        store: ScopeStore | None = None,
        kind: Mapping[str, str] | Callable[[NewEvent], str] | None = None,
        default_kind: str = Kind.CONSEQUENCE,
        judge: Judge = rule,
        sink: Sink | Callable[[Decision], Awaitable[object] | object] | Literal["log"] | None = None,
        dead_letter: Callable[[DeadLetter], Awaitable[object] | object] | Literal["log"] | None = None,
        settle: Mapping[str, Any] | Rules | None = None,
        act_threshold: float | None = None,
        window_share: float = 0.5,
        on_judge_down: Literal["dead-letter", "rule"] | None = None,
        guidance: str | None = None,
        predicates: Mapping[str, str] | None = None,
        context: Context | None = None,
        capture: Capture | None = None,
        signals: Mapping[str, Signal | Mapping[str, Any] | None] | None = None,
        observe: Observer | None = None,
        clock: Clock | None = None,
        slots: int = SLOTS,
        grace_ms: int = 3000,
        patience_ms: int = 5000,
        isolation: Isolation | None = None,
        webhooks: WebhookRules | None = None,
    ) -> None:
        self.webhooks = webhooks or WebhookRules()
        self.clock = clock or SystemClock()
        self.store = store if store is not None else MemoryStore(self.clock)
        self._kind = kind if callable(kind) else None
        self._kinds = Kinds(None if callable(kind) else kind, default_kind)
        found_sink, handler = sink_of(sink), dead_letter_of(dead_letter)
        checked_judge(judge)
        self.rules = rules_of(
            settle,
            judge=judge,
            act_threshold=act_threshold,
            window_share=window_share,
            sink=found_sink is not None,
            dead_letter=handler is not None,
            on_judge_down=on_judge_down,
            signals=signals,
        )
        self.calls = Calls(
            judge=judge,
            sink=found_sink,
            dead_letter=handler,
            guidance=guidance,
            predicates=dict(predicates or {}),
            context=context,
            capture=capture,
            isolation=isolation,
        )
        self._slots = slots
        self._grace_ms = grace_ms
        self.engine = Engine(self.store, self.rules, self.clock, observe, patience_ms=patience_ms)
        self.feed = Feed(self.store.log, self.clock)
        self.news = NewsFeed(self.store.news, self.clock)
        self.letters = Letters(self.engine)
        self._sources = Sources(self.engine)

    async def start(self) -> None:
        """Open the store. Idempotent; whatever needs it does it. Raises `StoreUnavailableError`."""
        await self.engine.start()

    async def close(self) -> None:
        """Let go of the judge's and the sink's connections and of the store. Idempotent."""
        try:
            for each in (self.calls.judge, self.calls.sink):
                close = getattr(each, "aclose", None)
                if close is not None:
                    await close()
        finally:
            await self.feed.close()
            await self.news.close()
            await self.engine.close()
            await self.store.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    @property
    def kinds_go_by_name(self) -> bool:
        """Whether events of one name are all of one kind, as they are unless a function is asked for it."""
        return self._kind is None

    def kind_of(self, event: NewEvent) -> Kind:
        """An event's kind. Raises `EventError` (code `bad_kind`) when the kind function raises or names none."""
        if self._kind is None:
            return self._kinds(event.name)
        try:
            found = self._kind(event)
        except Exception as error:
            raise EventError(
                "bad_kind", f"the kind function raised {type(error).__name__}: {error}"
            ) from error
        try:
            return Kind(found)
        except ValueError as error:
            problem = f"the kind function gave {found!r}, it must give one of {', '.join(Kind)}"
            raise EventError("bad_kind", problem) from error

    def accept(self, event: NewEvent | Mapping[str, Any]) -> Event:
        """An event with its kind, and with an id and an `at` where it came without. Raises `EventError`."""
        new = event if isinstance(event, NewEvent) else NewEvent.of(event)
        kind = self.kind_of(new)
        return Event(
            id=secrets.token_hex(12) if new.id is None else new.id,
            name=new.name,
            kind=kind,
            at=self.clock.now() if new.at is None else new.at,
            data_json=new.data_json,
            text=new.text,
        )

    async def push(self, scope: str, events: NewEvents) -> Taken:
        """Take events into a scope, in one commit; returns once they are stored.

        An event is a `NewEvent` or a mapping with `name` and, where you have them, `id`, `at`, `data` and `text`.
        Events whose id is known already are duplicates and change nothing, so a push may be sent again.

        Raises `EventError` for a bad event, once its neighbours are taken; `OutboxFullError`, `ConflictError` or
        `StoreUnavailableError` with none taken, though after the last they may turn out to have been.
        """
        check_scope(scope)
        accepted: list[Event] = []
        problem: EventError | None = None
        for position, event in enumerate(events):
            try:
                accepted.append(self.accept(event))
            except EventError as error:
                problem = problem or EventError(error.code, f"event {position}: {error}")
        taken = Taken(0)
        if accepted or problem is None:
            taken = await self._push(scope, Pushed(tuple(accepted)))
        if problem is not None:
            raise problem
        return taken

    async def flush(self, scope: str, *, id: str | None = None) -> bool:
        """Settle what is open and held, now, without `wait` on offer. False when there was nothing.

        `id` names the request: sent again under the same one, it has the first one's outcome and does nothing.
        """
        check_scope(scope)
        return await self._request(scope, Flushed(secrets.token_hex(12) if id is None else check_id(id)))

    async def end(self, scope: str, *, id: str | None = None) -> bool:
        """Settle what is open and held as `closing`: the unit is over. Otherwise as `flush`."""
        check_scope(scope)
        return await self._request(scope, Ended(secrets.token_hex(12) if id is None else check_id(id)))

    async def run(self) -> None:
        """Settle, judge and deliver until cancelled; then calls in hand get a grace, and leases are handed back."""
        await self.start()
        store = self.store.subscriptions
        async with delivering(store, self.feed, self.clock, self.webhooks, self._grace_ms):
            await Runner(self.engine, self.calls, slots=self._slots, grace_ms=self._grace_ms).run()

    async def attach(self, scope: str, source: Source) -> None:
        """Read a source into a scope, from its committed cursor on, until it ends.

        While it fails it is run again, after the rungs of `retry_backoff_ms`, the last one repeated. Raises
        `PermanentError` where the source does, and `AlreadyAttachedError` for a second source of one key.
        """
        check_scope(scope)
        await self.start()
        await self._sources.attach(scope, source, lambda key: self._emit(scope, key))

    def _emit(self, scope: str, key: str) -> Emit:
        async def emit(events: NewEvents, cursor: str | None, *, gap: bool = False) -> Taken:
            accepted: list[Event] = []
            for event in events:
                try:
                    accepted.append(self.accept(event))
                except EventError as error:
                    self.engine.observe(EventRefused(scope, key, error.code, str(error)))
            return await self._push(scope, Pushed(tuple(accepted), key, cursor, gap))

        return emit

    async def _push(self, scope: str, pushed: Pushed) -> Taken:
        await self.start()
        applied = await self.engine.apply(scope, (pushed,))
        taken = applied.replies[0]
        assert isinstance(taken, Taken)
        if taken.full is not None:
            raise OutboxFullError(scope, taken.full, _size(applied, taken.full))
        return taken

    async def _request(self, scope: str, request: Flushed | Ended) -> bool:
        await self.start()
        settling = (await self.engine.apply(scope, (request,))).replies[0]
        assert isinstance(settling, Settling)
        return settling.settled


def _size(applied: Applied, lane: str) -> int:
    return len(applied.state.outbox if lane == "outbox" else applied.state.dead)


def from_settings(
    settings: Settings,
    store: ScopeStore | None = None,
    *,
    observe: Observer | None = None,
    isolation: Isolation | None = None,
    asks: bool = True,
    judge: Judge | None = None,
    clock: Clock | None = None,
) -> Attend:
    """What a deployment's settings describe, on its store or the one given.

    Without either it is in memory. A `judge` given takes the place of theirs. A hosted judge's key is looked for in
    the environment too; a process that only steps scopes, and never `asks` the judge, needs none. Raises
    `ConfigError` with what cannot be found or used.
    """
    if store is None and settings.store not in (None, "memory"):
        store = store_at(settings.store or "", settings.prefix)
    found = references(settings, os.environ, asks=asks and judge is None)
    return Attend(
        store=store,
        kind=settings.kinds,
        default_kind=settings.default_kind,
        judge=judge or found["judge"],
        sink=found["sink"],
        dead_letter=found["dead_letter"],
        settle=settings.settle,
        act_threshold=settings.act_threshold,
        window_share=settings.window_share,
        on_judge_down=OnJudgeDown(settings.on_judge_down).value,
        guidance=settings.guidance,
        predicates=settings.predicates,
        signals=settings.signals,
        observe=observe,
        slots=settings.concurrency,
        # What is left of the shutdown's grace is for handing leases back.
        grace_ms=settings.shutdown_grace_ms // 2,
        isolation=isolation,
        clock=clock,
        webhooks=settings.webhook_rules,
    )
