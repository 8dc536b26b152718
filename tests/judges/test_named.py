"""Judges by the names that settings have for them, each with the key that is its own."""

from __future__ import annotations

from typing import Any

import pytest

from attend.errors import ConfigError
from attend.judges.decisions import Decisions
from attend.judges.jev import Jev
from attend.judges.llm import Llm
from attend.judges.named import hosted_judge
from tests.judges.fakes import decisions, jev
from tests.judges.fakes.decisions import FakeDecisions
from tests.judges.fakes.jev import FakeJev
from tests.judges.fakes.models import FakeModel
from tests.judges.windows import asked

pytestmark = pytest.mark.anyio
KEYS = {"TYPESAFE_API_KEY": "tk-own", "OPENAI_API_KEY": "sk-own"}


def test_each_takes_its_providers_key_for_its_providers_address() -> None:
    assert isinstance(hosted_judge("jev", KEYS), Jev)
    assert isinstance(hosted_judge("decisions", KEYS, model="gpt-6-luna"), Decisions)
    assert isinstance(hosted_judge("llm", KEYS, model="m"), Llm)


async def test_one_key_serves_any_address(
    fake_jev: FakeJev, fake_decisions: FakeDecisions, fake_model: FakeModel
) -> None:
    url = f"{fake_jev.url}/v1/systemone"
    found = hosted_judge(
        "jev", {"ATTEND_JUDGE_KEY": jev.KEY}, url=url, model="jev-1.13.0", criteria={"note": "Mm."}
    )
    assert (await found(asked())).judge == "jev:jev-1.13.0"
    await found.aclose()
    assert fake_jev.requests[0].json["questions"]["route"]["criteria"]["note"] == "Mm."
    url = f"{fake_decisions.url}/v1/decisions"
    found = hosted_judge("decisions", {"ATTEND_JUDGE_KEY": decisions.KEY}, url=url, model="gpt-6-luna")
    assert (await found(asked())).route == "note"
    await found.aclose()
    url = f"{fake_model.url}/v1/chat/completions"
    found = hosted_judge("llm", KEYS, url=url, model="qwen", context_tokens=8000)
    assert (await found(asked())).judge == "llm:qwen"
    await found.aclose()
    assert "authorization" not in fake_model.requests[0].headers


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("decisions", {}),
        ("llm", {}),
        ("llm", {"model": " "}),
        ("jev", {"url": "https://elsewhere.example/v1/systemone"}),
        ("llm", {"model": "m", "url": "https://elsewhere.example/v1/chat/completions"}),
        ("jev", {"criteria": {"page": "x"}}),
        ("gpt", {"model": "m"}),
    ],
)
def test_what_is_missing_is_said_at_once(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        hosted_judge(name, KEYS, **options)
