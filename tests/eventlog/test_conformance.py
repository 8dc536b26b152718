"""Both logs of events pass the suite that others' adapters are given."""

from __future__ import annotations

import itertools

import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from attend import EventLog, memory_log, redis_log
from attend.errors import ConfigError
from attend.testing.eventlogs import event_log_conformance
from attend.testing.suite import Case
from tests.servers import Server, plain_client

pytestmark = pytest.mark.anyio

CASES = [case.name for case in event_log_conformance(memory_log)]
_numbers = itertools.count()


@pytest.mark.parametrize("kind", ["memory", "fakeredis", "valkey", "redis_server"])
@pytest.mark.parametrize("name", CASES)
async def test_conformance(name: str, kind: str, request: pytest.FixtureRequest) -> None:
    def make() -> EventLog:
        if kind == "memory":
            return memory_log()
        if kind == "fakeredis":
            return redis_log(client=FakeAsyncRedis(server=FakeServer()))
        server: Server = request.getfixturevalue(kind)
        return redis_log(server.url, prefix=f"events{next(_numbers)}")

    case: Case = next(each for each in event_log_conformance(make) if each.name == name)
    await case.run()


@pytest.mark.parametrize("kind", ["memory", "valkey"])
async def test_a_log_keeps_no_more_than_it_was_told(kind: str, request: pytest.FixtureRequest) -> None:
    log: EventLog
    if kind == "memory":
        log = memory_log(retain=3)
    else:
        log = redis_log(request.getfixturevalue(kind).url, prefix="kept", retain=3)
    await log.append("s", [{"id": "first", "name": "n"}])
    start = (await log.read("s", None, 10)).cursor
    await log.append("s", [{"id": f"e{n}", "name": "n"} for n in range(3)])
    page = await log.read("s", start, 10)
    assert ([event.id for event in page.events], page.gap) == (["e0", "e1", "e2"], False)
    await log.append("s", [{"id": f"e{n}", "name": "n"} for n in range(3, 5)])
    page = await log.read("s", start, 10)
    assert ([event.id for event in page.events], page.gap) == (["e2", "e3", "e4"], True)
    await log.close()
    with pytest.raises(ConfigError, match="retain"):
        memory_log(retain=0)
    with pytest.raises(ConfigError, match="retain"):
        redis_log("redis://localhost", retain=0)


async def test_a_log_that_was_deleted_or_holds_strangers_is_a_gap(valkey: Server) -> None:
    log = redis_log(valkey.url, prefix="broken")
    await log.append("s", [{"id": "a", "name": "n"}])
    cursor = (await log.read("s", None, 10)).cursor
    with plain_client(valkey.url) as client:
        client.delete("attend:{broken}:e:s", "attend:{broken}:em:s")
        await log.append("s", [{"id": "b", "name": "n"}])
        page = await log.read("s", cursor, 10)
        assert ([event.id for event in page.events], page.gap) == (["b"], True)
        client.xadd("attend:{broken}:e:s", {"n": "2", "d": "no event"})
        client.hset("attend:{broken}:em:s", "n", 2)
        stranger = await log.read("s", page.cursor, 10)
        assert (stranger.events, stranger.gap) == ((), True)
    await log.close()
