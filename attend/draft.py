"""From submissions to one scope's write: step each input in turn, and say what is to be stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from attend.core import codec
from attend.core.codec import Entry
from attend.core.due import due_at
from attend.core.effect import Announce, Bury, Call, Deliver, Drop, Effect, Judge, Keep, Log
from attend.core.input import Input, RulesChanged
from attend.core.state import ScopeState
from attend.core.step import Reply, step
from attend.core.types import Lane
from attend.rulebook import RuleBook
from attend.store.base import Dropped, Kept, Row, Write
from attend.store.news_log import NewsRow
from attend.stored import Stored
from attend.trace import ScopeLost, Trace

SNAPSHOT_AT_LEAST = 1024
"""A tail up to this many bytes is not worth a snapshot, however small that would be."""


class Claim(Struct, frozen=True):
    """A due scope that was claimed: for which lane, the claim's instant and its end.

    `hold` is asked about the state before anything is applied; when it says yes nothing is.
    """

    lane: Lane
    now: int
    until: int
    hold: Callable[[ScopeState], bool] | None = None


class Submission:
    """Inputs for one scope, and what became of them once they were stepped."""

    __slots__ = ("attempts", "calls", "claim", "error", "held", "inputs", "replies", "scope", "state")

    def __init__(self, scope: str, inputs: Sequence[Input], claim: Claim | None) -> None:
        self.scope = scope
        self.inputs = inputs
        self.claim = claim
        self.attempts = 0
        self.error: Exception | None = None
        self.held = False
        self.calls: tuple[Call, ...] = ()
        self.replies: tuple[Reply | None, ...] = ()
        self.state: ScopeState | None = None


class Draft:
    """One scope's submissions, applied to what is stored: the write to make, and what then will be stored.

    `write` is None where there is nothing to write. What is given to submissions counts once it has committed.
    """

    __slots__ = (
        "_book",
        "_dropped",
        "_entries",
        "_kept",
        "_news",
        "_now",
        "_rows",
        "base",
        "result",
        "traces",
        "write",
    )

    def __init__(
        self, base: Stored, submissions: Sequence[Submission], book: RuleBook, now: int, nonce: str
    ) -> None:
        self.base = base
        self.traces: list[Trace] = []
        self._book = book
        self._now = now
        self._entries: list[Entry] = []
        self._rows: list[Row] = []
        self._kept: list[Kept] = []
        self._dropped: list[Dropped] = []
        self._news: list[NewsRow] = []
        state = self._brought_up(base.state)
        claimed: set[Lane] = set()
        for each in submissions:
            state = self._apply(state, each, claimed)
        self.result, self.write = self._outcome(state, claimed, nonce)

    def _brought_up(self, state: ScopeState) -> ScopeState:
        book = self._book
        if state.generation >= book.generation or state.digest == book.digest:
            return state
        changed = RulesChanged(book.generation, book.own)
        after = step(state, changed, self._now, book.own).state
        if after is not state:
            self._entries.append(Entry(self._now, changed))
        return after

    def _apply(self, state: ScopeState, each: Submission, claimed: set[Lane]) -> ScopeState:
        each.error, each.held, each.calls, each.replies, each.state = None, False, (), (), state
        claim, now = each.claim, self._now
        if claim is not None:
            if claim.hold is not None and claim.hold(state):
                each.held = True
                return state
            now = max(now, claim.now)
        rules = self._book.of(state)
        effects: list[Effect] = []
        replies: list[Reply | None] = []
        entries: list[Entry] = []
        after = state
        try:
            for input in each.inputs:
                stepped = step(after, input, now, rules)
                if stepped.state is not after:
                    after = stepped.state
                    entries.append(Entry(now, input))
                effects += stepped.effects
                replies.append(stepped.reply)
        except Exception as error:  # noqa: BLE001 - its neighbours go on from the state before it
            each.error = error
            return state
        each.calls = tuple(self._records(effects))
        each.replies, each.state = tuple(replies), after
        self._entries += entries
        if claim is not None:
            claimed.add(claim.lane)
        return after

    def _records(self, effects: Sequence[Effect]) -> list[Call]:
        """Take down what is to be written and traced; what is left are the calls."""
        calls: list[Call] = []
        for effect in effects:
            match effect:
                case Judge() | Deliver() | Bury():
                    calls.append(effect)
                case Log(decision, held, account):
                    summary = codec.encode(decision.summary())
                    window = codec.encode_window(decision.window, account)
                    self._rows.append(Row(decision.id, summary, window, held))
                case Keep(kept):
                    self._kept.append(Kept(kept.id, codec.encode(kept)))
                case Drop(id, done, arrival):
                    told = b"" if arrival is None else codec.encode(arrival)
                    self._dropped.append(Dropped(id, done, told))
                case Announce(news):
                    change = None if news.change is None else news.change.value
                    self._news.append(NewsRow(codec.encode(news), news.condition, change))
                case _:
                    self.traces.append(effect)
        return calls

    def _outcome(self, state: ScopeState, claimed: set[Lane], nonce: str) -> tuple[Stored, Write | None]:
        base = self.base
        if state is base.state and not base.lost:
            return base, None
        due = due_at(state, self._book.of(state))
        lanes = ((Lane.SETTLE, due.settle), (Lane.DELIVER, due.deliver), (Lane.BURY, due.bury))
        was = (base.due.settle, base.due.deliver, base.due.bury)
        moved = {
            lane: at
            for (lane, at), before in zip(lanes, was, strict=True)
            if at != before or lane in claimed or base.lost
        }
        died_at = _oldest(state)
        entry = snapshot = None
        if base.version and not base.lost:
            entry = codec.encode(tuple(self._entries))
            tail_size = base.tail_size + len(entry)
            if tail_size > max(base.snapshot_size, SNAPSHOT_AT_LEAST):
                entry = None
        if entry is None:
            snapshot = codec.encode(state)
            sizes = (len(snapshot), 0)
        else:
            sizes = (base.snapshot_size, base.tail_size + len(entry))
        version = f"{_count(base.version) + 1}-{nonce}"
        if base.lost:
            self.traces.append(ScopeLost(state.scope))
        write = Write(
            scope=state.scope,
            expected=base.version,
            version=version,
            at=max(self._now, state.now),
            entry=entry,
            snapshot=snapshot,
            due=moved,
            dead=died_at if died_at != _oldest(base.state) or base.lost else None,
            rows=tuple(self._rows),
            keep=tuple(self._kept),
            drop=tuple(self._dropped),
            news=tuple(self._news),
            restart=base.lost,
        )
        return Stored(state, version, due, *sizes), write


def _oldest(state: ScopeState) -> int:
    """When the oldest dead letter died; 0 for none."""
    return state.dead[0].at if state.dead else 0


def _count(version: str) -> int:
    count = version.partition("-")[0]
    return int(count) if count.isdecimal() else 0
