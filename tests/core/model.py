"""A naive model of one scope, written from the rules of behaviour and not from `step`.

Lists and plain numbers; every deadline is worked out anew from the events each time it is asked for. It knows
windows, reasons, the judge slot, the outbox and the dead letters, and nothing of traces, ids of content, codecs or
effects. Jitter is the one thing it cannot know: the instant of a retry after a loss is given to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from attend.core.rules import Rules
from attend.core.types import Kind, Reason, Route

ACTS = (Kind.CLOSING, Kind.FLUSH, Kind.CONTINUOUS, Kind.PASSIVE)
REMEMBERED_REQUESTS = 64


@dataclass
class Item:
    """An accepted event."""

    id: str
    kind: Kind
    size: int
    content: object
    at: int

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
    token: int | None = None
    leased_until: int | None = None
    due_at: int = 0
    failures: int = 0
    losses: int = 0

    @property
    def ids(self) -> list[str]:
        return [item.id for item in self.items]


@dataclass
class Model:
    """One scope. `finished` holds the windows that were decided and delivered, skipped, or logged without a sink."""

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
    finished: list[Work] = field(default_factory=list[Work])
    accepted: list[Item] = field(default_factory=list[Item])
    requests: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    def at(self, now: int) -> None:
        """Time comes; it never goes back."""
        self.now = max(self.now, now)

    # What is known

    def known(self, id: str) -> Item | None:
        """The event that stands under this id, if a repeat of it would be a duplicate."""
        live = [*self.open]
        for work in (self.held, self.slot, *self.outbox):
            live += work.items if work else []
        for item in reversed([*live, *self.accepted[-self.rules.seen_count :]]):
            if item.id == id:
                return item
        return None

    def is_full(self) -> bool:
        return len(self.outbox) >= self.rules.max_outbox or len(self.dead) >= self.rules.max_dead_letters

    # The open window

    def push(self, items: list[Item], gap: bool = False) -> tuple[int, list[int], list[int], list[int]]:
        """Accepted, and the positions of duplicates, conflicts and refused."""
        accepted, duplicates, conflicts, refused = 0, list[int](), list[int](), list[int]()
        full = self.is_full()
        self.gap = self.gap or gap
        for position, item in enumerate(items):
            first = self.known(item.id)
            if first is not None:
                duplicates.append(position)
                if first.content != item.content:
                    conflicts.append(position)
            elif full:
                refused.append(position)
            else:
                accepted += 1
                item.at = self.now
                self.accepted.append(item)
                self.join(item)
        return accepted, duplicates, conflicts, refused

    def join(self, item: Item) -> None:
        """An accepted event joins the open window, which then sheds what it must."""
        waited_for_an_act = not any(other.is_act for other in self.open)
        if item.is_act and waited_for_an_act:
            self.shed([o for o in self.open if self.now - o.at > self.rules.max_window_ms])
        self.open.append(item)
        while len(self.open) > self.rules.max_events and (spare := self.oldest_non_act(self.open)):
            self.shed([spare])
        if self.held is None and not any(o.is_act for o in self.open):
            while self.bytes() > self.rules.max_window_bytes:
                self.shed([self.open[0]])

    def shed(self, items: list[Item]) -> None:
        self.dropped += len(items)
        self.open = [o for o in self.open if not any(o is item for item in items)]

    @staticmethod
    def oldest_non_act(items: list[Item]) -> Item | None:
        return next((item for item in items if not item.is_act), None)

    def bytes(self) -> int:
        """Held and open count together: they go to the judge together."""
        held = self.held.items if self.held else []
        return sum(item.size for item in [*held, *self.open])

    def request(self, id: str, reason: Reason) -> bool:
        """A flush (`forced`) or an end (`closing`): whether there is anything to settle."""
        for known, outcome in self.requests[-REMEMBERED_REQUESTS:]:
            if known == id:
                return outcome
        outcome = bool(self.open) or self.held is not None
        self.requests.append((id, outcome))
        if outcome and (self.forced is None or self.forced[0] is Reason.CLOSING):
            at = self.now if self.forced is None else self.forced[1]
            self.forced = (reason, at) if self.forced is None or reason is Reason.FORCED else self.forced
        return outcome

    # Settling

    def deadlines(self) -> list[tuple[int, Reason]]:
        """Every instant at which what is open and held would settle, with its reason."""
        rules, found = self.rules, list[tuple[int, Reason]]()
        grace = {
            Kind.CLOSING: (rules.closing_grace_ms, Reason.CLOSING),
            Kind.CONTINUOUS: (rules.stream_gap_ms, Reason.CONTINUOUS),
            Kind.PASSIVE: (rules.passive_quiet_ms, Reason.PASSIVE),
        }
        for kind, (ms, reason) in grace.items():
            if last := [item.at for item in self.open if item.kind is kind]:
                found.append((max(last) + ms, reason))
        if flushes := [item.at for item in self.open if item.kind is Kind.FLUSH]:
            found.append((min(flushes), Reason.FLUSH))
        if acts := [item.at for item in self.open if item.is_act]:
            found.append((min(acts) + rules.max_window_ms, Reason.AGE))
            if len(self.open) > rules.max_events:
                found.append((min(acts), Reason.OVERFLOW))
        if self.open and (acts or self.held) and self.bytes() >= self.rules.max_window_bytes:
            began = min(acts) if acts else self.now
            found.append((began, Reason.SIZE))
        if self.forced is not None:
            found.append((self.forced[1], self.forced[0]))
        if self.held is not None:
            found.append((self.horizon_at, Reason.HORIZON))
        return found

    def due(self) -> int | None:
        """When the settle lane has something to do."""
        if self.slot is not None:
            return self.slot.due_at if self.slot.leased_until is None else self.slot.leased_until
        return min((at for at, _ in self.deadlines()), default=None)

    def reasons(self) -> set[Reason]:
        """The reason a window that settles now has; several where the earliest deadlines are at one instant."""
        passed = [(at, reason) for at, reason in self.deadlines() if at <= self.now]
        if any(reason is Reason.FLUSH for _, reason in passed):
            return {Reason.FLUSH}
        if self.forced is not None:
            return {self.forced[0]}
        first = min((at for at, _ in passed), default=0)
        return {reason for at, reason in passed if at == first}

    def settle(self, reason: Reason) -> None:
        """The open window settles, with the held one, and goes to the judge."""
        before = self.held or Work([], reason)
        items, dropped = [*before.items, *self.open], before.dropped + self.dropped
        while len(items) > self.rules.max_events and (spare := self.oldest_non_act(items)):
            items = [item for item in items if item is not spare]
            dropped += 1
        self.slot = Work(items, reason, before.waits, dropped, before.gap or self.gap)
        self.open, self.dropped, self.gap, self.forced, self.held = [], 0, False, None, None
        self.start(self.slot, 2 * self.rules.judge_timeout_ms)

    def offers_wait(self, work: Work) -> bool:
        final = work.reason in (Reason.FLUSH, Reason.FORCED, Reason.HORIZON)
        return not final and work.waits < self.rules.max_waits

    # Calls: to the judge, to the sink, to the dead-letter handler

    def start(self, work: Work, lease_ms: int) -> None:
        self.token += 1
        work.token, work.leased_until = self.token, self.now + lease_ms

    def fail(self, work: Work, permanent: bool, retry_after_ms: int) -> bool:
        """Count a failure; whether the tries are used up."""
        ladder = self.rules.retry_backoff_ms
        if permanent or work.failures >= len(ladder):
            return True
        work.due_at = self.now + max(ladder[work.failures], retry_after_ms)
        work.failures, work.leased_until = work.failures + 1, None
        return False

    def lose(self, work: Work, due_at: int) -> bool:
        """Count a loss; whether it is the fourth."""
        work.losses += 1
        work.due_at, work.leased_until = due_at, None
        return work.losses >= 4

    def bury(self, work: Work) -> None:
        """The window becomes a dead letter, and starts anew in that lane."""
        work.failures, work.losses, work.leased_until, work.due_at, work.token = 0, 0, None, self.now, None
        self.dead.append(work)

    def verdict(self, route: Route) -> None:
        """The judge's verdict is taken."""
        assert self.slot is not None
        work, self.slot = self.slot, None
        if route is Route.WAIT:
            work.waits += 1
            self.held, self.horizon_at = work, self.now + self.rules.wait_horizon_ms
        elif route is Route.SKIP or not self.rules.sink:
            self.finished.append(work)
        else:
            work.failures, work.losses, work.leased_until, work.due_at, work.token = (
                0,
                0,
                None,
                self.now,
                None,
            )
            self.outbox.append(work)
