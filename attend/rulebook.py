"""The rules in use: this process's own, and those that newer processes step their scopes with."""

from __future__ import annotations

from attend.core import codec
from attend.core.rules import Rules
from attend.core.state import ScopeState
from attend.errors import StateFormatError
from attend.store.base import ScopeStore


class RuleBook:
    """Rules by digest. `generation` orders this process's among all that were ever registered."""

    def __init__(self, store: ScopeStore, rules: Rules) -> None:
        self._store = store
        self.own = rules
        self.digest = rules.digest
        self.generation = 0
        self._known = {self.digest: rules}

    async def register(self) -> None:
        """Register this process's rules, unless they are: a store that was emptied has forgotten them.

        Raises `StoreUnavailableError`.
        """
        if self.generation == 0 or await self._store.rules(self.digest) is None:
            self.generation = await self._store.register(self.digest, codec.encode(self.own))

    def learn(self, rules: Rules) -> None:
        """Rules met in a tail."""
        self._known.setdefault(rules.digest, rules)

    def of(self, state: ScopeState) -> Rules:
        """The rules a state names. They must have been met before, or `fetch`ed."""
        return self._known[state.digest]

    async def fetch(self, state: ScopeState) -> None:
        """Make sure that `of` knows the state's rules.

        Raises `StateFormatError` where nobody knows them any more, and `StoreUnavailableError`.
        """
        if state.digest in self._known:
            return
        stored = await self._store.rules(state.digest)
        if stored is None:
            raise StateFormatError(f"scope {state.scope!r} names rules {state.digest}, which are not stored")
        self._known[state.digest] = codec.decode_rules(stored)
