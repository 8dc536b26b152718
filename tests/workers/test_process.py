"""Worker processes: they start, decide, survive the store, and leave in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from attend.app import Attend
from tests.servers import Server, plain_client
from tests.workers.crew import ARQ, ATTEND, Crew, decided, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

NewCrew = Callable[..., Crew]
Producer = Callable[..., Attend]


@pytest.mark.parametrize("command", [ATTEND, ARQ], ids=["attend", "arq"])
async def test_a_worker_decides_and_ends_on_sigterm(
    command: tuple[str, ...], new_crew: NewCrew, producer: Producer, server: Server
) -> None:
    crew = new_crew()
    crew.start(command)
    app = producer()
    for n in range(5):
        await app.push(f"s{n}", [{"name": "u"}])
    assert len(await decided(app.store, 5)) == 5
    with plain_client(server.url) as client:
        strays = [key for key in client.scan_iter() if not key.startswith((b"attend:{default}:", b"arq:"))]
        assert strays == []
    assert crew.stop() == [0]


@pytest.mark.parametrize("command", [ATTEND, ARQ], ids=["attend", "arq"])
async def test_on_sigterm_a_lease_is_handed_back(
    command: tuple[str, ...], new_crew: NewCrew, producer: Producer
) -> None:
    crew = new_crew(
        """
        async def judge(input):
            note(input.scope, input.starts)
            await asyncio.sleep(600)
        """,
        judge="ours:judge",
        shutdown_grace_ms="1000",
    )
    crew.start(command)
    app = producer()
    await app.push("s", [{"name": "u"}])
    await until(lambda: bool(crew.noted()))
    assert crew.stop() == [0]
    state = await app.engine.state("s")
    assert state is not None
    assert state.slot is not None
    assert (state.slot.attempt.leased_until, state.slot.attempt.starts) == (None, 1)


async def test_a_worker_waits_for_a_store_that_is_away(
    new_crew: NewCrew, producer: Producer, server: Server
) -> None:
    server.kill()
    crew = new_crew()
    member = crew.start()
    await until(lambda: "waiting for the store" in crew.log)
    server.start()
    app = producer()
    await app.push("s", [{"name": "u"}])
    await decided(app.store, 1)
    assert member.poll() is None


async def test_workers_survive_a_restart_of_the_store(
    new_crew: NewCrew, producer: Producer, server: Server
) -> None:
    crew = new_crew(
        """
        async def judge(input):
            note(input.scope, input.starts)
            if input.scope == "during":
                await asyncio.sleep(1)
            return await rule(input)
        """,
        judge="ours:judge",
    )
    members = [crew.start(), crew.start()]
    app = producer()
    await app.push("before", [{"name": "u"}])
    await decided(app.store, 1)
    with plain_client(server.url) as client:
        client.script_flush()
    await app.push("flushed", [{"name": "u"}])
    await decided(app.store, 2)
    await app.push("during", [{"name": "u"}])
    await until(lambda: any(words[1] == "during" for words in crew.noted()))
    server.kill()
    await asyncio.sleep(2)
    server.start()
    for n in range(5):
        await app.push(f"after{n}", [{"name": "u"}])
    rows = await decided(app.store, 8)
    assert {row.starts for row in rows} == {1}
    assert len(rows) == 8
    assert [member.poll() for member in members] == [None, None]
    assert crew.stop() == [0, 0]


async def test_plain_arq_says_what_is_missing(new_crew: NewCrew) -> None:
    crew = new_crew(store="")
    member = crew.start(ARQ)
    assert member.wait(60) != 0
    assert "ATTEND_STORE" in crew.log
