"""Two setups on one recording, side by side."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from attend.core.types import Summary


class Rerouted(Struct, frozen=True):
    """One decision that both setups came to, with different routes."""

    before: Summary
    after: Summary


class Comparison(Struct, frozen=True):
    """What the other setup changes: decisions that only it has, that it lacks, and those it routes differently.

    A decision is the same where it is about the same events. `moved` has, by the id of one that vanished, the ids of
    those that its events are in now.
    """

    appeared: tuple[Summary, ...]
    vanished: tuple[Summary, ...]
    rerouted: tuple[Rerouted, ...]
    moved: dict[str, tuple[str, ...]]

    @property
    def same(self) -> bool:
        """Whether an agent would have heard the same."""
        return not (self.appeared or self.vanished or self.rerouted)


def compare(before: Iterable[Summary], after: Iterable[Summary]) -> Comparison:
    """What changes from the decisions of one setup to those of the other, in the order they were made."""
    olds = {each.id: each for each in before}
    news = {each.id: each for each in after}
    appeared = tuple(each for id, each in news.items() if id not in olds)
    vanished = tuple(each for id, each in olds.items() if id not in news)
    now_in: dict[tuple[str, str], str] = {
        (each.scope, id): each.id for each in news.values() for id in each.event_ids
    }
    moved = {
        each.id: tuple(
            dict.fromkeys(now_in[each.scope, id] for id in each.event_ids if (each.scope, id) in now_in)
        )
        for each in vanished
    }
    rerouted = tuple(
        Rerouted(each, news[id])
        for id, each in olds.items()
        if id in news and news[id].route is not each.route
    )
    return Comparison(appeared, vanished, rerouted, moved)
