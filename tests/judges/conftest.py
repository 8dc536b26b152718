"""Fakes of the judges' servers, each on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from attend.judges.decisions import Decisions, decisions_judge
from attend.judges.jev import Jev, jev_judge
from tests.judges.fakes import decisions, jev
from tests.judges.fakes.decisions import FakeDecisions
from tests.judges.fakes.jev import FakeJev
from tests.judges.fakes.models import FakeModel


@pytest.fixture
async def fake_jev(anyio_backend: str) -> AsyncGenerator[FakeJev]:
    """A System One server."""
    fake = FakeJev()
    async with fake.running():
        yield fake


@pytest.fixture
async def fake_decisions(anyio_backend: str) -> AsyncGenerator[FakeDecisions]:
    """A Decisions server."""
    fake = FakeDecisions()
    async with fake.running():
        yield fake


@pytest.fixture
async def fake_model(anyio_backend: str) -> AsyncGenerator[FakeModel]:
    """A model behind three APIs."""
    fake = FakeModel()
    async with fake.running():
        yield fake


@pytest.fixture
async def jev_of(fake_jev: FakeJev) -> AsyncGenerator[Jev]:
    """A judge on the System One server."""
    judge = jev_judge(jev.KEY, endpoint=f"{fake_jev.url}/v1/systemone")
    yield judge
    await judge.aclose()


@pytest.fixture
async def decisions_of(fake_decisions: FakeDecisions) -> AsyncGenerator[Decisions]:
    """A judge on the Decisions server."""
    judge = decisions_judge(decisions.KEY, "gpt-6-luna", endpoint=f"{fake_decisions.url}/v1/decisions")
    yield judge
    await judge.aclose()
