"""Walks `step` and the model through the same inputs, and compares them after each."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from attend.core import codec
from attend.core.codec import Entry
from attend.core.due import due_at
from attend.core.effect import Judge, Keep, Log
from attend.core.input import (
    DeadDropped,
    DeadRetried,
    Delivered,
    Ended,
    Failed,
    Flushed,
    Input,
    Judged,
    Lost,
    Pushed,
    Released,
    Ticked,
)
from attend.core.letter import Lettered
from attend.core.rules import Rules
from attend.core.state import Held, ScopeState, Slot
from attend.core.step import Settling, Step, Taken, step
from attend.core.trace import StaleRefused
from attend.core.types import Event, Judgment, Lane, Reason, Route, Window
from attend.core.work import work_of
from tests.core.model import Item, Model, Work
from tests.core.stories import fresh


class Verdict(Struct, frozen=True):
    """The judge answers; `stale` under another token."""

    route: str
    stale: bool = False


class End(Struct, frozen=True):
    """A lane's call ends: `failed`, `fatal`, `down`, `lost`, `released` or `taken`; `stale` under another token."""

    lane: Lane
    how: str
    stale: bool = False
    retry_after_ms: int = 0


class Wake(Struct, frozen=True):
    """A lane's due instant comes, and its tick with it."""

    lane: Lane


class Redo(Struct, frozen=True):
    """Someone retries a dead letter, or drops it; `stale` where it is another's death that is meant."""

    place: int
    drops: bool
    stale: bool = False


Move = Pushed | Flushed | Ended | Ticked | Verdict | End | Wake | Redo


class Walk:
    """One scope on its way, in both."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.now = 0
        self.state = fresh(rules)
        self.model = Model(rules)
        self.windows: list[Window] = []
        self.snapshot = codec.encode(self.state)
        self.tail: list[bytes] = []

    def go(self, moves: list[tuple[int, Move]]) -> None:
        """Each move after its pause; then a replay of what was stored."""
        for place, (pause_ms, move) in enumerate(moves):
            self.now += pause_ms
            said = self.spoken(move)
            before, due = self.state, self.lasting_due()
            done = self.apply(said)
            self.model.now = max(self.now, before.now)
            self.follow(said, before, done)
            self.compare()
            self.check_calls(before, done)
            self.check_acts()
            self.check_deadline(said, due)
            if place == len(moves) // 2:
                self.snapshot, self.tail = codec.encode(self.state), []
        self.replay()

    def spoken(self, move: Move) -> Input:
        """The input that a move is, as things stand."""
        if isinstance(move, Wake):
            due = due_at(self.state, self.rules)
            at = {Lane.SETTLE: due.settle, Lane.DELIVER: due.deliver, Lane.BURY: due.bury}[move.lane]
            self.now = max(self.now, at or 0)
            return Ticked(move.lane)
        if isinstance(move, Verdict):
            id, token = self.call(Lane.SETTLE, move.stale)
            return Judged(id, token, Judgment(move.route))
        if isinstance(move, End):
            id, token = self.call(move.lane, move.stale)
            match move.how:
                case "taken":
                    return Delivered(move.lane, "other" if move.stale else id)
                case "lost":
                    return Lost(move.lane, id, token)
                case "released":
                    return Released(move.lane, id, token)
                case _:
                    permanent, down = move.how in ("fatal", "down"), move.how == "down"
                    return Failed(move.lane, id, token, move.how, permanent, move.retry_after_ms, down)
        if isinstance(move, Redo):
            return self.redo(move)
        return move

    def redo(self, move: Redo) -> DeadRetried | DeadDropped:
        """What someone says about one of the dead letters there are."""
        if not self.state.dead:
            return DeadDropped("none", 0)
        dead = self.state.dead[move.place % len(self.state.dead)]
        at = dead.at + move.stale
        if move.drops:
            return DeadDropped(dead.id, at)
        kept = [window for window in self.windows if window.id == dead.window]
        return DeadRetried(dead.id, at, kept[-1])

    def call(self, lane: Lane, stale: bool) -> tuple[str, int]:
        """The id and token of a lane's latest call, or another token."""
        work = work_of(self.state, lane)
        if work is None:
            return "none", self.state.token
        return work.id, (work.attempt.token or self.state.token) + 1000 * stale

    def apply(self, said: Input) -> Step:
        """Step, and check that the codec, a second run and a second application change nothing."""
        done = step(self.state, said, self.now, self.rules)
        again = step(codec.decode_state(codec.encode(self.state)), said, self.now, self.rules)
        assert again == done
        twice = step(done.state, said, self.now, self.rules)
        assert twice.state == done.state
        assert all(isinstance(one, StaleRefused) for one in twice.effects)
        if done.state is not self.state:
            self.tail.append(codec.encode((Entry(self.now, said),)))
        self.state = done.state
        return done

    def follow(self, said: Input, before: ScopeState, done: Step) -> None:
        """Tell the model the same."""
        model = self.model
        match said:
            case Pushed():
                assert isinstance(done.reply, Taken)
                items = [Item(e.id, e.kind, e.size, (e.name, e.data_json, e.text)) for e in said.events]
                longer = {id for id in before.seen if model.known(id) is None}
                accepted, duplicates, conflicts, refused = model.push(items, said.gap, longer)
                assert (done.reply.accepted, list(done.reply.duplicates)) == (accepted, duplicates)
                assert set(conflicts) <= set(done.reply.conflicts) <= set(duplicates)
                assert len(done.reply.refused) == refused
            case Flushed() | Ended():
                reason = Reason.FORCED if isinstance(said, Flushed) else Reason.CLOSING
                assert done.reply == Settling(model.request(said.id, reason))
            case Ticked():
                self.tick(said)
            case Judged():
                slot = model.slot
                if slot is not None and said.token and said.token == slot.token:
                    offered = set(Route) - (set() if slot.may_wait else {Route.WAIT})
                    if said.judgment.route in offered:
                        model.verdict(Route(said.judgment.route))
                    else:
                        model.fail(Lane.SETTLE, False, 0)
            case Delivered():
                work = model.work(said.lane)
                if work is not None and said.id != "other" and said.lane is not Lane.SETTLE:
                    (model.outbox if said.lane is Lane.DELIVER else model.dead).remove(work)
            case Failed() | Lost() | Released():
                work = model.work(said.lane)
                if work is None or work.leased_until is None or work.token != said.token:
                    return
                if isinstance(said, Failed):
                    model.fail(said.lane, said.permanent, said.retry_after_ms, said.down)
                elif isinstance(said, Lost):
                    model.lose(said.lane, self.retry_at(said.lane))
                else:
                    work.due_at, work.leased_until, work.token = model.now, None, 0
            case DeadRetried() | DeadDropped():
                assert isinstance(done.reply, Lettered)
                place = next(
                    (i for i, dead in enumerate(before.dead) if (dead.id, dead.at) == (said.id, said.at)),
                    None,
                )
                if place is None:
                    assert done.reply.outcome == "unknown"
                    return
                act = model.drop if isinstance(said, DeadDropped) else model.retry
                assert done.reply.outcome == act(place)
            case _:
                raise AssertionError(said)

    def tick(self, said: Ticked) -> None:
        """What a tick must do, in the model."""
        model, lane = self.model, said.lane
        due = model.due(lane)
        if due is None or due > model.now:
            return
        work = model.work(lane)
        if work is not None and work.leased_until is not None:
            if said.takeover and model.lose(lane, self.retry_at(lane)):
                self.tick(said)
        elif work is not None:
            model.start(lane, work)
        elif self.begins_again():
            model.begin_again()
        else:
            assert self.state.slot is not None, "a window was due and did not settle"
            assert self.state.slot.window.reason in model.reasons()
            model.settle(self.state.slot.window.reason)

    def begins_again(self) -> bool:
        """Whether a window that is retried went first, as the model says it must."""
        began = len(self.state.again) < len(self.model.again)
        # Since when a window is over its share the model does not know.
        assert began == self.model.is_again_next() or self.is_over_its_share()
        return began

    def retry_at(self, lane: Lane) -> int:
        """The instant that the jitter drew, within its bounds."""
        work, before = work_of(self.state, lane), self.model.work(lane)
        assert before is not None
        if work is None or work.attempt.losses != before.losses + 1:
            return self.model.now
        rung = self.rules.retry_backoff_ms[0] if self.rules.retry_backoff_ms else 1000
        least, most = self.model.now + 1, self.model.now + rung * 2**before.losses
        assert least <= work.attempt.due_at <= most
        return work.attempt.due_at

    def compare(self) -> None:
        """They agree on everything the model knows."""
        state, model = self.state, self.model
        assert [e.id for e in state.open.events] == [item.id for item in model.open]
        assert (state.open.dropped, state.open.gap) == (model.dropped, model.gap)
        assert state.open.size == sum(e.size for e in state.open.events)
        assert seen_as(state.held) == (model.held and known_as(model.held))
        assert seen_as(state.slot) == (model.slot and known_as(model.slot))
        assert (state.slot and state.slot.may_wait) == (model.slot and model.slot.may_wait)
        assert [list(parcel.event_ids) for parcel in state.outbox] == [work.ids for work in model.outbox]
        assert [list(dead.event_ids) for dead in state.dead] == [work.ids for work in model.dead]
        assert [dead.at for dead in state.dead] == [work.died_at for work in model.dead]
        assert [list(again.window.event_ids) for again in state.again] == [work.ids for work in model.again]
        assert state.token == model.token
        due = due_at(state, self.rules)
        if model.slot is None and self.is_over_its_share():
            # Due since long ago: the model does not say since when.
            assert due.settle is not None
            assert due.settle <= model.now
        else:
            assert due.settle == model.due(Lane.SETTLE)
        assert (due.deliver, due.bury) == (model.due(Lane.DELIVER), model.due(Lane.BURY))

    def check_calls(self, before: ScopeState, done: Step) -> None:
        """One judge call at a time, and only on a window that the committed state has in judgement."""
        calls = [one for one in done.effects if isinstance(one, Judge)]
        assert len(calls) <= 1
        for call in calls:
            assert done.state.slot is not None
            assert call.window == done.state.slot.window
            assert call.token > before.token
            if before.slot is not None and before.slot.attempt.leased_until is not None:
                assert before.slot.attempt.leased_until <= max(self.now, before.now)
        for one in done.effects:
            if isinstance(one, Log | Keep):
                self.windows.append(one.decision.window if isinstance(one, Log) else one.window)
        assert [list(window.event_ids) for window in self.windows] == [
            work.ids for work in self.model.decided
        ]

    def check_acts(self) -> None:
        """Every act that was accepted is in exactly one place, and the order of events is kept throughout."""
        state = self.state
        judged = [item.id for work in self.model.judged for item in work.items]
        on_the_way: list[Event] = []
        # One that is retried stands where it was judged first.
        fresh = state.slot if self.model.slot and not self.model.slot.retried else None
        for window in (fresh and fresh.window, state.held and state.held.window, state.open):
            on_the_way += window.events if window else ()
        places = [*judged, *(e.id for e in on_the_way)]
        accepted = iter(item.id for item in self.model.accepted)
        assert all(id in accepted for id in places), "out of order"
        acts = Counter(item.id for item in self.model.accepted if item.is_act)
        there = Counter(item.id for work in self.model.judged for item in work.items if item.is_act)
        assert acts == there + Counter(e.id for e in on_the_way if e.kind.is_act)

    def is_over_its_share(self) -> bool:
        """Whether what is open has outgrown its share of the judge's budget."""
        return any(reason is Reason.SIZE for _, reason in self.model.deadlines())

    def lasting_due(self) -> int | None:
        """When it settles, whatever non-acts yet come.

        A window over its share is not counted: where they push out big ones, it can come to fit again.
        """
        return None if self.is_over_its_share() else due_at(self.state, self.rules).settle

    def check_deadline(self, said: Input, due: int | None) -> None:
        """Nothing but an act moves a deadline later."""
        if isinstance(said, Pushed | Flushed | Ended) and due is not None:
            acts = isinstance(said, Pushed) and any(e.kind.is_act for e in said.events)
            after = due_at(self.state, self.rules).settle
            assert acts or (after is not None and after <= due)

    def replay(self) -> None:
        """Snapshot and tail, read back, are the live state."""
        state = codec.decode_state(self.snapshot)
        for data in self.tail:
            for entry in codec.decode_entries(data):
                state = step(state, entry.input, entry.now, self.rules).state
        assert state == self.state


def seen_as(place: Held | Slot | None) -> tuple[object, ...] | None:
    """What is compared of a window of `step`'s."""
    if place is None:
        return None
    window = place.window
    return (list(window.event_ids), window.reason, window.waits, window.dropped, window.gap)


def known_as(work: Work) -> tuple[object, ...]:
    """The same of one of the model's."""
    return (work.ids, work.reason, work.waits, work.dropped, work.gap)
