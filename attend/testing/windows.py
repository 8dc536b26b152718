"""The conformance suite, about windows: written once, kept while a lane refers to them."""

from __future__ import annotations

from attend.store.base import Dropped, Kept, ScopeStore, StoredWindow
from attend.testing.making import committed, logged, row
from attend.testing.suite import Suite

suite = Suite()


@suite.case
async def a_window_is_kept_with_its_row(store: ScopeStore) -> None:
    await logged(store, "a")
    assert await store.window("a") == StoredWindow(b"window of a", b"summary of a", False)
    assert await store.window("b") is None


@suite.case
async def a_window_is_written_once(store: ScopeStore) -> None:
    await logged(store, "a")
    changed = row("a")
    await committed(store, "again", rows=(type(changed)("a", b"other", b"other", True),))
    await committed(store, "dead", keep=(Kept("a", b"other"),))
    assert await store.window("a") == StoredWindow(b"window of a", b"summary of a", False)


@suite.case
async def a_dead_letters_window_has_no_row_and_goes_when_it_is_dropped(store: ScopeStore) -> None:
    one = await committed(store, keep=(Kept("a", b"window"),))
    assert await store.window("a") == StoredWindow(b"window", None, False)
    assert await store.log.find("a") is None
    assert (await store.log.end()).n == 0
    await committed(store, expected=one, drop=(Dropped("a", True),))
    assert await store.window("a") is None


@suite.case
async def a_kept_window_can_still_get_its_row(store: ScopeStore) -> None:
    one = await committed(store, keep=(Kept("a", b"window"),))
    two = await committed(store, expected=one, rows=(row("a"),))
    assert await store.window("a") == StoredWindow(b"window", b"summary of a", False)
    await committed(store, expected=two, drop=(Dropped("a", False),))
    assert await store.window("a") is not None


@suite.case
async def a_window_that_moves_from_the_outbox_to_the_dead_letters_stays_held(store: ScopeStore) -> None:
    one = await committed(store, rows=(row("a", held=True),))
    two = await committed(store, expected=one, drop=(Dropped("a", False),), keep=(Kept("a", b"window of a"),))
    assert await store.log.trim(0, 0) == 1
    assert await store.window("a") is not None
    await committed(store, expected=two, drop=(Dropped("a", True),))
    assert await store.window("a") is None


@suite.case
async def a_dropped_window_that_arrived_is_done(store: ScopeStore) -> None:
    one = await committed(store, rows=(row("a", held=True),))
    await committed(store, expected=one, drop=(Dropped("a", True),))
    assert await store.window("a") == StoredWindow(b"window of a", b"summary of a", True)
    await committed(store, "again", rows=(row("a", held=True),))
    found = await store.window("a")
    assert found is not None
    assert found.done


@suite.case
async def a_window_keeps_what_is_told_of_its_arrival(store: ScopeStore) -> None:
    one = await committed(store, rows=(row("a", held=True), row("b", held=True)))
    told = bytes(range(256))
    await committed(store, expected=one, drop=(Dropped("a", True, told), Dropped("b", False, b"not yet")))
    assert await store.window("a") == StoredWindow(b"window of a", b"summary of a", True, told)
    assert await store.window("b") == StoredWindow(b"window of b", b"summary of b", False)


@suite.case
async def dropping_what_was_never_kept_does_nothing(store: ScopeStore) -> None:
    await committed(store, drop=(Dropped("a", True),))
    assert await store.window("a") is None


@suite.case
async def a_held_window_outlives_its_row_until_it_is_dropped(store: ScopeStore) -> None:
    one = await committed(store, rows=(row("a", held=True), row("b")))
    end = await store.log.end()
    assert await store.log.trim(0, 0) == 2
    assert await store.window("a") == StoredWindow(b"window of a", b"summary of a", False)
    assert await store.window("b") is None
    position = await store.log.find("a")
    assert position is not None
    assert (position.n, position < end) == (1, True)
    await committed(store, expected=one, drop=(Dropped("a", True),))
    assert await store.window("a") is None
    assert await store.log.find("a") is None
