"""The suite that every log of events passes, for adapters of others: named async cases for any test runner."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

from attend.core.event import NewEvent
from attend.errors import EventError
from attend.eventlog.base import EventLog
from attend.testing.suite import Case

MakeLog = Callable[[], EventLog | Awaitable[EventLog]]
"""Makes a fresh, empty log; async or plain. A case closes it."""

Check = Callable[[EventLog], Awaitable[None]]

_checks: dict[str, Check] = {}
_blocking: dict[str, Check] = {}


def event_log_conformance(make: MakeLog, *, can_block: bool = True) -> list[Case]:
    """What an `EventLog` guarantees. `can_block` says whether `read` waits for `block_ms`."""
    checks = {**_checks, **(_blocking if can_block else {})}
    return [Case(name, _on(check, make, can_block)) for name, check in checks.items()]


def _on(check: Check, make: MakeLog, can_block: bool) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        made = make()
        log = await made if inspect.isawaitable(made) else made
        try:
            assert log.can_block is can_block
            await check(log)
        finally:
            await log.close()

    return run


def _case(check: Check) -> Check:
    _checks[getattr(check, "__name__", str(check)).replace("_", " ")] = check
    return check


def _blocks(check: Check) -> Check:
    _blocking[getattr(check, "__name__", str(check)).replace("_", " ")] = check
    return check


async def _append(log: EventLog, *ids: str, scope: str = "s") -> None:
    await log.append(scope, [{"id": id, "name": "n"} for id in ids])


async def _ids(
    log: EventLog, cursor: str | None = None, limit: int = 100
) -> tuple[list[str | None], str, bool, bool]:
    page = await log.read("s", cursor, limit)
    return [event.id for event in page.events], page.cursor, page.gap, page.more


@_case
async def an_empty_log_has_nothing_and_a_cursor_to_go_on_from(log: EventLog) -> None:
    found, cursor, gap, more = await _ids(log)
    assert (found, gap, more) == ([], False, False)
    await _append(log, "a")
    assert (await _ids(log, cursor))[::2] == (["a"], False)


@_case
async def events_come_in_the_order_they_were_appended(log: EventLog) -> None:
    await _append(log, "a", "b")
    await _append(log, "c")
    found, cursor, gap, more = await _ids(log)
    assert (found, gap, more) == (["a", "b", "c"], False, False)
    assert (await _ids(log, cursor))[0] == []
    await _append(log, "d")
    assert (await _ids(log, cursor))[0] == ["d"]


@_case
async def a_limit_cuts_and_the_cursor_goes_on_behind_it(log: EventLog) -> None:
    await _append(log, *"abcde")
    found, cursor, _, more = await _ids(log, None, 2)
    assert (found, more) == (["a", "b"], True)
    found, cursor, _, more = await _ids(log, cursor, 2)
    assert (found, more) == (["c", "d"], True)
    found, cursor, _, more = await _ids(log, cursor, 2)
    assert (found, more) == (["e"], False)


@_case
async def a_scope_sees_its_own_events_only(log: EventLog) -> None:
    await _append(log, "a")
    await _append(log, "x", scope="other")
    assert (await _ids(log))[0] == ["a"]


@_case
async def an_event_comes_back_as_it_was(log: EventLog) -> None:
    event = NewEvent("build.failed", "e1", 7, b'{"n":1.10}', "12 ☃")
    await log.append("s", [event])
    assert (await log.read("s", None, 10)).events == (event,)


@_case
async def an_event_without_id_or_at_gets_them_once(log: EventLog) -> None:
    before = int(time.time() * 1000)
    await log.append("s", [{"name": "a"}, {"name": "b"}])
    first = (await log.read("s", None, 10)).events
    assert first == (await log.read("s", None, 10)).events
    assert len({event.id for event in first} - {None}) == 2
    assert all(event.at is not None and before <= event.at <= before + 60_000 for event in first)


@_case
async def a_bad_event_is_refused_with_its_neighbours(log: EventLog) -> None:
    for bad in ({"name": ""}, {"name": "n", "at": "soon"}):
        try:
            await log.append("s", [{"id": "a", "name": "n"}, bad])
        except EventError:
            pass
        else:
            raise AssertionError(f"{bad} was taken")
    assert (await _ids(log))[0] == []


@_case
async def nothing_can_be_appended(log: EventLog) -> None:
    await log.append("s", [])
    assert (await _ids(log))[0] == []


@_case
async def what_was_trimmed_before_it_was_read_is_a_gap(log: EventLog) -> None:
    await _append(log, "a")
    _, cursor, _, _ = await _ids(log)
    await _append(log, "b", "c", "d")
    assert await log.trim("s", 2) == 2
    found, after, gap, _ = await _ids(log, cursor)
    assert (found, gap) == (["c", "d"], True)
    assert (await _ids(log, after))[:3:2] == ([], False)


@_case
async def what_was_read_before_it_was_trimmed_is_no_gap(log: EventLog) -> None:
    await _append(log, "a", "b")
    _, cursor, _, _ = await _ids(log)
    assert await log.trim("s", 0) == 2
    assert (await _ids(log, cursor))[:3:2] == ([], False)
    await _append(log, "c")
    assert (await _ids(log, cursor))[:3:2] == (["c"], False)
    assert (await _ids(log))[:3:2] == (["c"], False)


@_case
async def a_cursor_of_no_log_is_a_gap_and_goes_on_from_the_oldest(log: EventLog) -> None:
    await _append(log, "a")
    for cursor in ("nonsense", "", "x" * 1000):
        found, after, gap, _ = await _ids(log, cursor)
        assert (found, gap) == (["a"], True)
        assert (await _ids(log, after))[:3:2] == ([], False)


@_blocks
async def a_read_waits_for_an_event(log: EventLog) -> None:
    _, cursor, _, _ = await _ids(log)
    reading = asyncio.ensure_future(log.read("s", cursor, 10, 60_000))
    await asyncio.sleep(0.1)
    assert not reading.done()
    await _append(log, "x", scope="other")
    await _append(log, "a")
    page = await asyncio.wait_for(reading, 30)
    assert [event.id for event in page.events] == ["a"]


@_blocks
async def a_read_that_waited_for_nothing_comes_back_with_nothing(log: EventLog) -> None:
    _, cursor, _, _ = await _ids(log)
    page = await asyncio.wait_for(log.read("s", cursor, 10, 50), 30)
    assert (page.events, page.gap) == ((), False)


@_blocks
async def a_read_does_not_wait_where_there_is_something(log: EventLog) -> None:
    await _append(log, "a")
    page = await asyncio.wait_for(log.read("s", None, 10, 600_000), 30)
    assert [event.id for event in page.events] == ["a"]
