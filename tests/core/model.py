"""A naive model of one scope, written from the rules of behaviour and not from `step`.

Lists and plain numbers; every deadline is worked out anew from the events each time it is asked for. It knows
windows, reasons, tokens, leases and the lanes' order, and nothing of traces, ids of content, codecs or effects.
Two things it cannot know are given to it: the jittered instant of a retry after a loss, and which of two deadlines
at one instant names the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from attend.core.rules import OnJudgeDown, Rules
from attend.core.types import ACTS, DELIVERED, Kind, Lane, Reason, Route

REMEMBERED_REQUESTS = 64
LOSSES_UNTIL_DEAD = 4


@dataclass
class Item:
    """An accepted event."""

    id: str
    kind: Kind
    size: int
    content: object
    at: int = 0

    @property
    def is_act(self) -> bool:
        return self.kind in ACTS


@dataclass
class Work:
    """A window on its way: held, in judgement, in the outbox or dead."""

    items: list[Item]
    reason: Reason
    waits: int = 0
    dropped: int = 0
    gap: bool = False
    may_wait: bool = False
    token: int = 0
    leased_until: int | None = None
    due_at: int = 0
    failures: int = 0
    losses: int = 0
    stage: Lane | None = None
    died_at: int = 0
    retried: bool = False

    @property
    def ids(self) -> list[str]:
        return [item.id for item in self.items]

    def next_at(self) -> int:
        return self.due_at if self.leased_until is None else self.leased_until

    def afresh(self, now: int) -> Work:
        """The same window at the start of another lane."""
        afresh = Work(self.items, self.reason, self.waits, self.dropped, self.gap, due_at=now)
        afresh.retried = self.retried
        return afresh

    def bytes(self) -> int:
        """What it holds."""
        return sum(item.size for item in self.items)


@dataclass
class Model:
    """One scope.

    `judged` holds every window whose judging ended with no wait, at its first end: decided, skipped or dead;
    `decided` every decision and dead letter that was made, a window that was retried once more each time.
    """

    rules: Rules
    now: int = 0
    token: int = 0
    open: list[Item] = field(default_factory=list[Item])
    dropped: int = 0
    gap: bool = False
    forced: tuple[Reason, int] | None = None
    held: Work | None = None
    horizon_at: int = 0
    slot: Work | None = None
    outbox: list[Work] = field(default_factory=list[Work])
    dead: list[Work] = field(default_factory=list[Work])
    again: list[Work] = field(default_factory=list[Work])
    judged: list[Work] = field(default_factory=list[Work])
    decided: list[Work] = field(default_factory=list[Work])
    accepted: list[Item] = field(default_factory=list[Item])
    requests: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    # What is known, and what joins the open window.

    def known(self, id: str) -> Item | None:
        """The event that stands under this id, where a repeat of it must be a duplicate."""
        live = [*self.open]
        for work in (self.held, self.slot, *self.again, *self.outbox, *self.dead):
            live += work.items if work else []
        memory = [*live, *self.accepted[-self.rules.seen_count :]]
        return next((item for item in reversed(memory) if item.id == id), None)

    def is_full(self) -> bool:
        full_outbox = self.rules.sink and len(self.outbox) >= self.rules.max_outbox
        return full_outbox or len(self.dead) >= self.rules.max_dead_letters

    def push(
        self, items: list[Item], gap: bool, longer_known: set[str]
    ) -> tuple[int, list[int], list[int], int]:
        """How many were accepted, the positions of duplicates and of conflicts, and how many were refused.

        `longer_known` are ids that are remembered for longer than they have to be.
        """
        duplicates, conflicts, refused, fresh = list[int](), list[int](), 0, list[Item]()
        for position, item in enumerate(items):
            first = next((other for other in fresh if other.id == item.id), None) or self.known(item.id)
            if first is not None or item.id in longer_known:
                duplicates.append(position)
                if first is not None and first.content != item.content:
                    conflicts.append(position)
            elif self.is_full():
                refused += 1
            else:
                fresh.append(item)
        if refused:
            return 0, duplicates, conflicts, refused
        self.gap = self.gap or gap
        for item in fresh:
            self.join(item)
        return len(fresh), duplicates, conflicts, 0

    def join(self, item: Item) -> None:
        """An accepted event joins the open window, which then sheds what it must."""
        item.at = self.now
        self.accepted.append(item)
        if item.is_act and not any(other.is_act for other in self.open):
            self.shed([other for other in self.open if self.now - other.at > self.rules.max_window_ms])
        self.open.append(item)
        while len(self.open) > self.rules.max_events and (spare := oldest_non_act(self.open)):
            self.shed([spare])
        if self.held is None and not any(other.is_act for other in self.open):
            while self.bytes() > self.rules.max_window_bytes:
                self.shed([self.open[0]])

    def shed(self, items: list[Item]) -> None:
        self.dropped += len(items)
        self.open = [other for other in self.open if not any(other is item for item in items)]

    def bytes(self) -> int:
        """Held and open count together: they go to the judge together."""
        return sum(item.size for item in [*(self.held.items if self.held else []), *self.open])

    # Settling.

    def request(self, id: str, reason: Reason) -> bool:
        """A flush (`forced`) or an end (`closing`): whether there is anything to settle."""
        for known, outcome in self.requests[-REMEMBERED_REQUESTS:]:
            if known == id:
                return outcome
        outcome = bool(self.open) or self.held is not None
        self.requests.append((id, outcome))
        if outcome and self.forced is None:
            self.forced = (reason, self.now)
        elif outcome and self.forced is not None and reason is Reason.FORCED:
            self.forced = (reason, self.forced[1])
        return outcome

    def deadlines(self) -> list[tuple[int, Reason]]:
        """Every instant at which what is open and held would settle, with its reason."""
        rules, found = self.rules, list[tuple[int, Reason]]()
        quiet = {
            Kind.CLOSING: rules.closing_grace_ms,
            Kind.CONTINUOUS: rules.stream_gap_ms,
            Kind.PASSIVE: rules.passive_quiet_ms,
        }
        for kind, quiet_ms in quiet.items():
            if instants := [item.at for item in self.open if item.kind is kind]:
                found.append((max(instants) + quiet_ms, Reason(kind.value)))
        if flushes := [item.at for item in self.open if item.kind is Kind.FLUSH]:
            found.append((min(flushes), Reason.FLUSH))
        if acts := [item.at for item in self.open if item.is_act]:
            found.append((min(acts) + rules.max_window_ms, Reason.AGE))
            if len(self.open) > rules.max_events:
                found.append((min(acts), Reason.OVERFLOW))
        if self.open and (acts or self.held) and self.bytes() >= rules.max_window_bytes:
            found.append((min(acts) if acts else 0, Reason.SIZE))
        if self.forced is not None:
            found.append((self.forced[1], self.forced[0]))
        if self.held is not None:
            found.append((self.horizon_at, Reason.HORIZON))
        return found

    def reasons(self) -> set[Reason]:
        """The reason that a window would settle for now; several where the earliest are at one instant."""
        passed = [(at, reason) for at, reason in self.deadlines() if at <= self.now]
        for first in (Reason.FLUSH, Reason.FORCED):
            if any(reason is first for _, reason in passed):
                return {first}
        earliest = min((at for at, _ in passed), default=0)
        return {reason for at, reason in passed if at == earliest}

    def settle(self, reason: Reason) -> None:
        """The open window settles, with the held one, and goes to the judge."""
        held = self.held or Work([], reason)
        items, dropped = [*held.items, *self.open], held.dropped + self.dropped
        while len(items) > self.rules.max_events and (spare := oldest_non_act(items)):
            items = [item for item in items if item is not spare]
            dropped += 1
        final = reason in (Reason.FLUSH, Reason.FORCED, Reason.HORIZON)
        at_horizon = self.held is not None and self.horizon_at <= self.now
        may_wait = not final and not at_horizon and held.waits < self.rules.max_waits
        self.slot = Work(items, reason, held.waits, dropped, held.gap or self.gap, may_wait)
        self.open, self.dropped, self.gap, self.forced, self.held = [], 0, False, None, None
        self.start(Lane.SETTLE, self.slot)

    # Calls: to the judge, to the sink, to the dead-letter handler.

    def work(self, lane: Lane) -> Work | None:
        """What a lane has in hand: one piece, the oldest."""
        if lane is Lane.SETTLE:
            return self.slot
        queue = self.outbox if lane is Lane.DELIVER else self.dead
        return queue[0] if queue else None

    def due(self, lane: Lane) -> int | None:
        """When the lane has something to do."""
        if (lane is Lane.DELIVER and not self.rules.sink) or (
            lane is Lane.BURY and not self.rules.dead_letter
        ):
            return None
        work = self.work(lane)
        if work is not None:
            return work.next_at()
        if lane is not Lane.SETTLE:
            return None
        return min(
            (*(work.due_at for work in self.again[:1]), *(at for at, _ in self.deadlines())), default=None
        )

    def start(self, lane: Lane, work: Work) -> None:
        lease_ms = 2 * self.rules.judge_timeout_ms if lane is Lane.SETTLE else self.rules.delivery_timeout_ms
        self.token += 1
        work.token, work.leased_until = self.token, self.now + lease_ms

    def fail(self, lane: Lane, permanent: bool, retry_after_ms: int, down: bool = False) -> None:
        """The lane's call ended badly; `down` where a permanent failure is not about the window."""
        work, ladder = self.work(lane), self.rules.retry_backoff_ms
        assert work is not None
        by_rule = lane is Lane.SETTLE and self.rules.on_judge_down is OnJudgeDown.RULE
        used_up = work.failures >= len(ladder) or retry_after_ms > sum(ladder[work.failures :])
        if by_rule and (down if permanent else used_up):
            self.verdict(Route.INTERRUPT if work.reason is Reason.FLUSH else Route.QUEUE)
            return
        if lane is Lane.BURY:
            backoff_ms = (ladder[0] if ladder else 1000) * 2**work.failures
            backoff_ms = min(backoff_ms, self.rules.dead_letter_backoff_max_ms)
        elif permanent or work.failures >= len(ladder):
            self.give_up(lane)
            return
        else:
            backoff_ms = ladder[work.failures]
        work.due_at, work.leased_until, work.token = self.now + max(backoff_ms, retry_after_ms), None, 0
        work.failures += 1

    def lose(self, lane: Lane, due_at: int) -> bool:
        """The lane's worker went away; whether that was once too often."""
        work = self.work(lane)
        assert work is not None
        work.losses += 1
        work.due_at, work.leased_until = due_at, None
        if work.losses >= LOSSES_UNTIL_DEAD and lane is not Lane.BURY:
            self.give_up(lane)
            return True
        return False

    def give_up(self, lane: Lane) -> None:
        """The lane's work becomes a dead letter."""
        if lane is Lane.SETTLE:
            assert self.slot is not None
            work, self.slot = self.slot, None
            self.judged += [] if work.retried else [work]
            self.decided.append(work)
        else:
            work = self.outbox.pop(0)
        dead = work.afresh(self.now)
        dead.stage, dead.died_at = lane, self.now
        self.dead.append(dead)

    # What someone asks about a dead letter.

    def drop(self, place: int) -> str:
        """Give up on a letter."""
        self.dead.pop(place)
        return "done"

    def retry(self, place: int) -> str:
        """Try a letter again, from where it was given up."""
        dead = self.dead[place]
        if dead.stage is Lane.DELIVER:
            if not self.rules.sink:
                return "no_sink"
            self.outbox.append(dead.afresh(self.now))
        else:
            waiting = sum(work.bytes() for work in self.again)
            if self.again and waiting + dead.bytes() > self.rules.max_window_bytes:
                return "full"
            work = dead.afresh(self.now)
            work.retried = True
            self.again.append(work)
        self.dead.pop(place)
        return "done"

    def is_again_next(self) -> bool:
        """Whether the free slot is for a window that is retried, and not for what is open and held."""
        if not self.again or self.again[0].due_at > self.now:
            return False
        return self.again[0].due_at <= min((at for at, _ in self.deadlines()), default=self.now)

    def begin_again(self) -> None:
        """The first window that is retried goes to the judge; the next waits from now on."""
        self.slot = self.again.pop(0)
        for work in self.again[:1]:
            work.due_at = max(work.due_at, self.now)
        self.start(Lane.SETTLE, self.slot)

    def verdict(self, route: Route) -> None:
        """The judge's verdict, one that was offered, is taken."""
        assert self.slot is not None
        work, self.slot = self.slot, None
        if route is Route.WAIT:
            work.waits += 1
            self.held, self.horizon_at = work, self.now + self.rules.wait_horizon_ms
            return
        self.judged += [] if work.retried else [work]
        if route not in DELIVERED:
            return
        self.decided.append(work)
        if self.rules.sink:
            self.outbox.append(work.afresh(self.now))


def oldest_non_act(items: list[Item]) -> Item | None:
    """The first that may be shed."""
    return next((item for item in items if not item.is_act), None)
