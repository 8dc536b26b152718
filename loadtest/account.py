"""What a load test sent, and whether the decisions afterwards account for all of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any


class Account:
    """Keeps books: which events each scope accepted, and which of them decisions hold.

    Not safe for threads; greenlets only switch while they wait.
    """

    def __init__(self) -> None:
        self._accepted: dict[str, set[str]] = defaultdict(set)
        self._decided: dict[str, Counter[str]] = defaultdict(Counter)
        self._dropped: Counter[str] = Counter()

    @property
    def scopes(self) -> list[str]:
        """Every scope that accepted something."""
        return list(self._accepted)

    @property
    def accepted(self) -> int:
        """How many events were accepted."""
        return sum(len(ids) for ids in self._accepted.values())

    def accept(self, events: Iterable[tuple[str, str]]) -> None:
        """Events that the server says it has, by scope and id."""
        for scope, id in events:
            self._accepted[scope].add(id)

    def decide(self, decision: Mapping[str, Any]) -> None:
        """A decision as subscribers get it. Those about other scopes are somebody else's."""
        scope = decision["scope"]
        if scope in self._accepted:
            self._decided[scope].update(decision["eventIds"])
            self._dropped[scope] += decision["dropped"]

    def problems(self) -> list[str]:
        """What does not add up, a line each; empty when everything is accounted for.

        Each accepted event is in exactly one decision. Those of kinds that cannot call for an agent may instead be
        among the ones that their scope's decisions say were dropped.
        """
        found: list[str] = []
        for scope, accepted in self._accepted.items():
            decided = self._decided[scope]
            missing = len(accepted - decided.keys())
            if missing != self._dropped[scope]:
                found.append(f"{scope}: {missing} in no decision, {self._dropped[scope]} said to be dropped")
            repeated = [id for id, times in decided.items() if times > 1]
            if repeated:
                found.append(f"{scope}: {len(repeated)} in more than one decision, such as {repeated[0]}")
            strange = decided.keys() - accepted
            if strange:
                found.append(
                    f"{scope}: {len(strange)} decided that were never accepted, such as {min(strange)}"
                )
        return found
