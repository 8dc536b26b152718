"""`attend serve` with a hosted judge, as its user starts it: by flags, and by a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_serve import attend
from tests.judges.fakes.jev import FakeJev
from tests.rig.reader import reader, until
from tests.rig.service import Service, post
from tests.servers import bundled_binary

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

LINE = b'{"scope":"ops/db","id":"a1","name":"user.said","text":"is db-2 all right?"}'
CONFIG = """
[serve]
store = "memory"
port = 0
on_judge_down = "rule"
[settle]
retry_backoff_ms = [10, 10, 10]
[kinds]
"user.said" = "flush"
[judge]
name = "{name}"
url = "{url}/v1/systemone"
guidance = "Be quiet at night."
[judge.criteria]
note = "Good to know."
[judge.predicates]
asked = "Did the user ask the agent for this?"
"""


@asynccontextmanager
async def serving(log: Path, *arguments: str) -> AsyncGenerator[Service]:
    """A serve on a free port; ended with the block."""
    bundled_binary()
    service = Service("serve", *arguments, ready=r"http://[\w.:-]+", log=log)
    try:
        yield await asyncio.to_thread(service.wait_ready)
        assert await asyncio.to_thread(service.stop) == 0
    finally:
        if service.process.poll() is None:
            service.kill()


async def first_decision(service: Service) -> dict[str, Any]:
    """The payload of the decision about the line, once it is made."""
    async with reader(service.url) as agent:
        await agent.poll()
        assert (await asyncio.to_thread(post, service.url, [LINE]))["accepted"] == 1

        async def heard() -> bool:
            await agent.poll()
            return bool(agent.polled)

        await until(heard)
        payload: dict[str, Any] = agent.polled[0]["data"]
        return payload


async def test_a_local_jev_decides_a_window_without_a_key(tmp_path: Path) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        arguments = ("--store", "memory", "--port", "0", "--kinds", '{"user.said":"flush"}')
        url = f"{fake.url}/v1/systemone"
        async with serving(
            tmp_path / "log", *arguments, "--judge", "jev", "--judge-url", url, "--guidance", "Be quiet."
        ) as service:
            decision = await first_decision(service)
        assert (decision["route"], decision["confidence"]) == ("queue", 0.41)
        assert decision["probabilities"]["queue"] == pytest.approx(0.52 / 0.93)
        assert "degraded" not in decision
        (asked,) = fake.requests
        assert "authorization" not in asked.headers
        assert asked.json["state"]["guidance"] == "Be quiet."


async def test_a_file_says_the_same_and_more(tmp_path: Path) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        file = tmp_path / "attend.toml"
        file.write_text(CONFIG.format(name="jev", url=fake.url), encoding="utf-8")
        async with serving(tmp_path / "log", "--config", str(file)) as service:
            decision = await first_decision(service)
        assert (decision["route"], decision["predicates"]) == ("queue", {"asked": 0.04})
        questions = fake.requests[0].json["questions"]
        assert questions["route"]["criteria"]["note"] == "Good to know."
        assert fake.requests[0].json["state"]["guidance"] == "Be quiet at night."


async def test_a_cascade_asks_the_server_only_where_the_rule_is_unsure(tmp_path: Path) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        file = tmp_path / "attend.toml"
        file.write_text(CONFIG.format(name="rule,jev", url=fake.url), encoding="utf-8")
        async with serving(tmp_path / "log", "--config", str(file)) as service:
            decision = await first_decision(service)
        assert (decision["route"], fake.requests) == ("interrupt", [])


async def test_a_judge_that_is_away_is_stood_in_for_by_rule(tmp_path: Path) -> None:
    fake = FakeJev(key=None)
    async with fake.running():
        gone = fake.url
    file = tmp_path / "attend.toml"
    file.write_text(CONFIG.format(name="jev", url=gone), encoding="utf-8")
    async with serving(tmp_path / "log", "--config", str(file)) as service:
        decision = await first_decision(service)
    assert (decision["route"], decision["degraded"]) == ("interrupt", True)
    assert "decided by rule" in (tmp_path / "log").read_text(encoding="utf-8")


def test_what_is_wrong_is_said_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "attend.toml"
    file.write_text("[serve]\nport = 'x'\n[judge]\nname = 'llm'\n", encoding="utf-8")
    result = attend("serve", "--config", str(file), "--workers", "-1")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"attend: {file}: [serve] port: is a text, it must be a whole number",
        "attend: --workers: '-1' is not a whole number 0 or more",
        f"attend: {file}: [judge] name: llm needs a model: give --judge-model (ATTEND_JUDGE_MODEL)",
    ]
    result = attend("serve", "--judge", "jev", TYPESAFE_API_KEY="")
    assert (result.returncode, result.stderr) == (
        2,
        "attend: --judge: the judge jev has no key: set TYPESAFE_API_KEY, or ATTEND_JUDGE_KEY\n",
    )
