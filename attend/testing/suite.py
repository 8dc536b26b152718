"""Named async cases for any test runner: what a suite is made of."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from attend.store.base import ScopeStore

MakeStore = Callable[[], ScopeStore | Awaitable[ScopeStore]]
"""Makes a fresh, empty store, not opened yet; async or plain."""

Check = Callable[[ScopeStore], Awaitable[None]]


class Case(Struct, frozen=True):
    """One case of a suite: `await case.run()` raises `AssertionError` where the adapter breaks a promise."""

    name: str
    run: Callable[[], Awaitable[None]]


V = TypeVar("V")


class Suite:
    """Checks of a store, each with a store of its own."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def case(self, check: Check) -> Check:
        """Add a check under its function's name."""
        self._checks[getattr(check, "__name__", str(check)).replace("_", " ")] = check
        return check

    def case_for(
        self, *values: V
    ) -> Callable[[Callable[[ScopeStore, V], Awaitable[None]]], Callable[[ScopeStore, V], Awaitable[None]]]:
        """Add a check once for each value."""

        def add(
            check: Callable[[ScopeStore, V], Awaitable[None]],
        ) -> Callable[[ScopeStore, V], Awaitable[None]]:
            for value in values:
                name = getattr(check, "__name__", str(check)).replace("_", " ")
                self._checks[f"{name}: {value}"] = _bound(check, value)
            return check

        return add

    def cases(self, make: MakeStore) -> list[Case]:
        """The checks as cases over stores of `make`."""
        return [Case(name, _on(check, make)) for name, check in self._checks.items()]


def joined(suites: Iterable[Suite], make: MakeStore) -> list[Case]:
    """The cases of several suites."""
    return [case for suite in suites for case in suite.cases(make)]


async def made(make: MakeStore) -> ScopeStore:
    """A store, opened."""
    store = make()
    if inspect.isawaitable(store):
        store = await store
    await store.open()
    return store


def _bound(check: Callable[[ScopeStore, V], Awaitable[None]], value: V) -> Check:
    async def bound(store: ScopeStore) -> None:
        await check(store, value)

    return bound


def _on(check: Check, make: MakeStore) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        store = await made(make)
        try:
            await check(store)
        finally:
            await store.close()

    return run
