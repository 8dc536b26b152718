"""The load tests themselves: with next to nothing to do they still measure, and their books do not lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadtest.account import Account
from loadtest.report import REACH, Latency, Ratio, machine, write_json
from loadtest.run import Effort, measure

TINY = Effort(
    ingest_rounds=1,
    ingest_seconds=0.1,
    worker_rounds=1,
    worker_runs=500,
    flushes=5,
    settles=5,
    dead_rounds=1,
    dead_deliveries=5,
    dead_cap=3,
)


@pytest.mark.anyio
async def test_every_figure_is_measured_and_written(tmp_path: Path) -> None:
    figures = {name: figure async for name, figure in measure(TINY, REACH)}
    write_json(tmp_path / "figures.json", figures, machine())
    written = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert list(written["figures"]) == list(REACH)
    assert written["machine"]["cores"] >= 1
    for name, figure in written["figures"].items():
        is_ratio = REACH[name].ratio or REACH[name].slowdown
        fields = {"value", "reference", "ratio"} if is_ratio else {"p50", "p99"}
        assert set(figure) == fields, name
        assert all(number > 0 for number in figure.values()), (name, figure)


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    assert Ratio.of([(10, 10), (1, 2), (30, 10)]) == Ratio(10, 10, 1)


def test_percentiles_are_durations_that_were_measured() -> None:
    assert Latency.of([5.0]) == Latency(5, 5)
    assert Latency.of([float(n) for n in range(100, 0, -1)]) == Latency(50, 99)


def decision(*ids: str, scope: str = "a", dropped: int = 0) -> dict[str, Any]:
    return {"scope": scope, "eventIds": list(ids), "dropped": dropped}


def test_books_are_balanced_when_each_event_is_in_one_decision_or_was_dropped() -> None:
    account = Account()
    account.accept([("a", "1"), ("a", "2"), ("a", "3"), ("a", "1")])
    assert account.accepted == 3
    account.decide(decision("1"))
    assert len(account.problems()) == 1
    account.decide(decision("2", dropped=1))
    account.decide(decision("9", scope="another"))
    assert account.problems() == []


@pytest.mark.parametrize(
    ("last", "word"),
    [
        (decision(), "in no decision"),
        (decision("1", "2"), "more than one"),
        (decision("2", "3"), "never accepted"),
        (decision("2", dropped=1), "dropped"),
    ],
)
def test_books_that_do_not_balance_say_so(last: dict[str, Any], word: str) -> None:
    account = Account()
    account.accept([("a", "1"), ("a", "2")])
    account.decide(decision("1"))
    account.decide(last)
    assert word in "\n".join(account.problems())
