"""What a deployment's settings are put together to: judges by name, rules by a judge's budget, what is let go of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from attend.app import Attend, from_settings
from attend.configured import judge_of, references, rules_of
from attend.core.rules import OnJudgeDown, Rules
from attend.core.types import Judgment
from attend.errors import (
    ConfigError,
    ContextLengthError,
    ImagesRejectedError,
    JudgeError,
    JudgeRefusedError,
    JudgeRejectedError,
    PermanentError,
    is_down,
)
from attend.judges.base import Judge, JudgeInput
from attend.judges.budget import Budget
from attend.judges.cascade import Cascade, cascade
from attend.judges.jev import Jev, jev_judge
from attend.judges.rule import rule
from attend.settings import Settings
from attend.store.memory import MemoryStore

pytestmark = pytest.mark.anyio

LOCAL = "http://127.0.0.1:9/v1/systemone"


class Reads:
    """A judge that declares something, and can be closed."""

    def __init__(self, **declared: object) -> None:
        self.closed = 0
        for name, value in declared.items():
            setattr(self, name, value)

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        return await rule(input)

    async def aclose(self) -> None:
        self.closed += 1


def bounded(judge: Judge, share: float = 0.5, **settle: int) -> int:
    """The `max_window_bytes` that a judge leads to."""
    return rules_of(
        settle, judge=judge, act_threshold=None, window_share=share, sink=False, dead_letter=False
    ).max_window_bytes


def test_a_judges_budget_bounds_windows_to_its_share() -> None:
    assert bounded(rule) == Rules().max_window_bytes == 8 * 1024 * 1024
    assert bounded(jev_judge("k")) == (32_000 - 2048) * 3 // 2
    assert bounded(jev_judge("k", long_context=True), 0.25) == int((262_144 - 2048) * 0.25 * 3)
    assert bounded(jev_judge("k", reserved_tokens=0, bytes_per_token=2), 1) == 64_000
    assert bounded(Reads(context_tokens=10_048)) == 12_000
    assert bounded(Reads(budget=Budget(10_000, 0, 4))) == 20_000
    assert bounded(Reads(budget=Budget(None))) == Rules().max_window_bytes


def test_the_smallest_budget_of_a_cascade_counts() -> None:
    judge = cascade(rule, jev_judge("k"), Reads(budget=Budget(1000, 0, 10)), Reads(context_tokens=20_000))
    assert bounded(judge) == 5000


def test_max_window_bytes_stands_where_it_is_given_also_as_the_default() -> None:
    assert bounded(jev_judge("k"), max_window_bytes=5000) == 5000
    assert bounded(jev_judge("k"), max_window_bytes=8 * 1024 * 1024) == 8 * 1024 * 1024


def test_what_cannot_be_is_said_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Attend(window_share=0, on_judge_down="page", act_threshold=2)  # type: ignore[arg-type] # it is the point
    assert [line.split(" ")[0] for line in caught.value.problems] == [
        "on_judge_down",
        "window_share",
        "act_threshold",
    ]


PLAIN = """
import functools
from attend.sinks.log import LogSink

def plain(one): ...
async def good(one): ...
async def two(one, other): ...
quick = lambda one: good(one)
bound = functools.partial(good)

class Sink:
    def deliver(self, decision): ...

class Judge:
    async def __call__(self, one): ...

sink, judge = Sink(), Judge()
"""


def test_what_a_name_leads_to_is_tried_before_anything_is_judged_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "named_by_a_test.py").write_text(PLAIN)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def problems(**settings: str) -> list[str]:
        given = {name: f"named_by_a_test:{value}" for name, value in settings.items()}
        try:
            references(Settings(**given), {})  # type: ignore[arg-type] # all of these are text
        except ConfigError as error:
            return list(error.problems)
        return []

    for judge in ("good", "quick", "bound", "judge"):
        assert problems(judge=judge, sink="plain", dead_letter="plain") == []
    where = "named_by_a_test"
    assert problems(judge="plain", sink="two", dead_letter="Judge") == [
        f"--judge: {where}:plain is a plain function, it must be an async def",
        f"--sink: {where}:two does not take the one argument that it is given",
        f"--dead-letter: {where}:Judge is a class; name an object that was made from it",
    ]
    assert problems(judge="two", sink="sink") == [
        f"--judge: {where}:two does not take the one argument that it is given",
        f"--sink: {where}:sink.deliver is a plain function, it must be an async def",
    ]
    assert problems(sink="LogSink") == [
        f"--sink: {where}:LogSink is a class; name an object that was made from it"
    ]


async def test_the_app_closes_its_judge() -> None:
    judge = Reads()
    app = Attend(judge=judge)
    await app.close()
    await app.close()
    assert judge.closed == 2
    await Attend(judge=rule).close()


async def test_settings_lead_to_a_judge_its_words_and_the_rules() -> None:
    settings = Settings(
        judge="jev",
        judge_url=LOCAL,
        judge_context_tokens=10_048,
        window_share=1.0,
        guidance="Be quiet.",
        predicates={"asked": "Did the user ask?"},
        on_judge_down="rule",
    )
    async with from_settings(settings, MemoryStore()) as app:
        assert isinstance(app.calls.judge, Jev)
        assert (app.calls.guidance, app.calls.predicates) == ("Be quiet.", {"asked": "Did the user ask?"})
        assert (app.rules.max_window_bytes, app.rules.on_judge_down) == (24_000, OnJudgeDown.RULE)


def test_several_judges_are_a_cascade() -> None:
    judge = judge_of(Settings(judge="rule,jev", judge_url=LOCAL, judge_below=0.9), {})
    assert isinstance(judge, Cascade)
    assert repr(judge) == "<cascade of 2 judges, below 0.9>"


@pytest.mark.parametrize(
    ("settings", "environ", "problem"),
    [
        (Settings(judge="jev"), {}, "--judge: the judge jev has no key: set TYPESAFE_API_KEY, or ATTEND_JUDGE_KEY"),
        (
            Settings(judge="decisions", judge_model="m"),
            {"TYPESAFE_API_KEY": "tk"},
            "--judge: the judge decisions has no key: set OPENAI_API_KEY, or ATTEND_JUDGE_KEY",
        ),
        (
            Settings(judge="rule,llm", judge_model="m", judge_url="https://gate.example/v1/chat/completions"),
            {"OPENAI_API_KEY": "sk"},
            "--judge: the judge llm has no key: set ATTEND_JUDGE_KEY for gate.example",
        ),
        (Settings(judge="no.such:judge"), {}, "--judge: no.such cannot be imported"),
    ],
)  # fmt: skip
def test_a_judge_without_its_key_is_one_line(
    settings: Settings, environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        references(settings, environ)
    (line,) = caught.value.problems
    assert line.startswith(problem)


def test_keys_come_from_the_settings_or_from_the_providers_variable() -> None:
    assert judge_of(Settings(judge="jev", judge_key="tk"), {})
    assert judge_of(Settings(judge="jev"), {"TYPESAFE_API_KEY": "tk"})
    assert judge_of(Settings(judge="llm", judge_model="m"), {"OPENAI_API_KEY": "sk"})


async def test_a_process_that_never_asks_needs_no_key_and_has_the_same_rules() -> None:
    settings = Settings(judge="jev")
    api = from_settings(settings, MemoryStore(), asks=False)
    worker = from_settings(replace(settings, judge_key="tk"), MemoryStore())
    assert api.rules == worker.rules
    await api.close()
    await worker.close()


def test_what_is_about_the_window_is_not_a_judge_that_is_down() -> None:
    assert is_down(JudgeRejectedError("a wrong key"))
    for error in (
        JudgeError("busy"),
        ContextLengthError("too long"),
        ImagesRejectedError("no pictures"),
        JudgeRefusedError("no"),
        PermanentError("no"),
        TimeoutError(),
    ):
        assert not is_down(error)
