"""Which event ids a scope remembers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice


class _Roll:
    """Ids in the order they were remembered, each with its place in that order and its checksum; it only grows."""

    __slots__ = ("checksums", "ids", "places")

    def __init__(self, known: Mapping[str, int]) -> None:
        self.ids = list(known)
        self.checksums = list(known.values())
        self.places = dict(zip(self.ids, range(len(self.ids)), strict=True))


class Memory:
    """The ids that a scope remembers, oldest first, each with a checksum of what was said under it.

    A value: it never changes. But a copy of hundreds of ids for each push would cost more than all else that a push
    does, so a memory is a part of a roll that it shares with the ones it came from: what is remembered later is
    appended behind its end, and what is forgotten stays before its start until a new roll is made.
    """

    __slots__ = ("_end", "_roll", "_start")

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self._roll = _Roll(known or {})
        self._start = 0
        self._end = len(self._roll.ids)

    def get(self, id: str) -> int | None:
        """The checksum kept for an id; None where it is not remembered."""
        place = self._roll.places.get(id)
        if place is None or not self._start <= place < self._end:
            return None
        return self._roll.checksums[place]

    def has_none_of(self, ids: Collection[str]) -> bool:
        """Whether no one of these is remembered."""
        return self._roll.places.keys().isdisjoint(ids) or all(self.get(id) is None for id in ids)

    def __len__(self) -> int:
        return self._end - self._start

    def __iter__(self) -> Iterator[str]:
        return islice(self._roll.ids, self._start, self._end)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self.all() == other.all()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Memory({self.all()!r})"

    def all(self) -> dict[str, int]:
        """Every id with its checksum, oldest first."""
        part = slice(self._start, self._end)
        return dict(zip(self._roll.ids[part], self._roll.checksums[part], strict=True))

    def with_more(
        self, more: Mapping[str, int], most: int, needed: Callable[[list[str]], Collection[str]]
    ) -> Memory:
        """This and `more`, of which it has none, cut to the last `most`.

        `needed` is asked about the ids that would be forgotten: those it gives are kept beyond that.
        """
        excess = max(0, len(self) + len(more) - most)
        oldest = self._roll.ids[self._start : min(self._start + excess, self._end)]
        if excess > len(oldest) or (oldest and not set(oldest).isdisjoint(needed(oldest))):
            return self._cut(more, excess, needed)
        roll, start = self._roll, self._start + excess
        is_latest = self._end == len(roll.ids)
        if not is_latest or start > most or not self._end or not roll.places.keys().isdisjoint(more):
            # Someone else went on from here, or enough was forgotten, or something that was is back.
            roll = _Roll(dict(islice(self.all().items(), excess, None)))
            start = 0
        places = range(len(roll.ids), len(roll.ids) + len(more))
        roll.places.update(zip(more, places, strict=True))
        roll.ids.extend(more)
        roll.checksums.extend(more.values())
        made = Memory.__new__(Memory)
        made._roll, made._start, made._end = roll, start, len(roll.ids)
        return made

    def _cut(
        self, more: Mapping[str, int], excess: int, needed: Callable[[list[str]], Collection[str]]
    ) -> Memory:
        known = self.all() | dict(more)
        oldest = list(islice(known, excess))
        kept = needed(oldest)
        for id in oldest:
            if id not in kept:
                del known[id]
        return Memory(known)
