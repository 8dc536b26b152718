"""A judge that is down, over real processes: what was urgent is decided by rule, and says so."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from attend.app import Attend
from attend.core.types import Route
from tests.judges.fakes.jev import FakeJev, refused
from tests.judges.fakes.server import Answer
from tests.workers.crew import ARQ, ATTEND, Crew, decided, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

NewCrew = Callable[..., Crew]
Producer = Callable[..., Attend]
SETTLE = "retry_backoff_ms=20,20,20,closing_grace_ms=1"
KINDS = '{"u":"flush","build":"closing"}'


def unused() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def url_of(port: int) -> str:
    """A System One address on this machine."""
    return f"http://127.0.0.1:{port}/v1/systemone"


@pytest.mark.parametrize("command", [ATTEND, ARQ], ids=["attend", "arq"])
async def test_a_server_that_is_away_is_stood_in_for(
    command: tuple[str, ...], new_crew: NewCrew, producer: Producer
) -> None:
    crew = new_crew(judge="jev", judge_url=url_of(unused()), on_judge_down="rule", settle=SETTLE, kinds=KINDS)
    app = producer()
    crew.start(command)
    await app.push("urgent", [{"name": "u", "text": "is db-2 all right?"}])
    (decision,) = await decided(app.store, 1)
    assert (decision.route, decision.degraded, decision.judge, decision.starts) == (
        Route.INTERRUPT,
        True,
        "rule",
        4,
    )
    state = await app.engine.state("urgent")
    assert state is not None
    assert state.dead == ()
    await until(lambda: "decided by rule" in crew.log)
    assert "is db-2 all right?" not in crew.log


async def test_it_is_asked_again_for_the_next_window(new_crew: NewCrew, producer: Producer) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        fake.answers(refused(401, "authentication_error"))
        crew = new_crew(
            judge="jev",
            judge_url=f"{fake.url}/v1/systemone",
            on_judge_down="rule",
            settle=SETTLE,
            kinds=KINDS,
        )
        crew.start()
        app = producer()
        await app.push("s", [{"name": "u"}])
        (first,) = await decided(app.store, 1)
        await app.push("s", [{"name": "u"}])
        second = (await decided(app.store, 2))[1]
        assert (first.route, first.degraded, first.starts) == (Route.INTERRUPT, True, 1)
        assert (second.route, second.degraded, second.judge) == (Route.QUEUE, False, "jev:jev-1.14.0")
        assert crew.stop() == [0]


async def test_by_default_it_is_a_dead_letter(new_crew: NewCrew, producer: Producer) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        fake.rule = lambda exchange: Answer(503)
        crew = new_crew(judge="jev", judge_url=f"{fake.url}/v1/systemone", settle=SETTLE, kinds=KINDS)
        crew.start()
        app = producer()
        await app.push("s", [{"name": "u"}])
        await until(lambda: "a dead letter" in crew.log)
        assert len(fake.requests) == 4


async def test_a_worker_under_arq_reads_the_file_that_a_variable_names(
    new_crew: NewCrew, producer: Producer, tmp_path: Path
) -> None:
    file = tmp_path / "attend.toml"
    file.write_text(
        f'[serve]\non_judge_down = "rule"\n[settle]\nretry_backoff_ms = [10]\n'
        f'[judge]\nname = "jev"\nurl = "{url_of(unused())}"\n',
        encoding="utf-8",
    )
    crew = new_crew(config=str(file))
    crew.start(ARQ)
    app = producer()
    await app.push("s", [{"name": "u"}])
    (decision,) = await decided(app.store, 1)
    assert (decision.degraded, decision.starts) == (True, 2)
