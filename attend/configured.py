"""What a deployment's settings name: judges, sinks and stores, found and put together.

Every process of a deployment builds the same, so that all step scopes with the same rules.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from attend.core.news import Signal
from attend.core.rules import OnJudgeDown, Rules, window_budget
from attend.core.types import DeadLetter, Decision
from attend.errors import ConfigError
from attend.judges.base import Judge
from attend.judges.budget import budget_of
from attend.judges.cascade import cascade
from attend.judges.rule import rule
from attend.option import HOSTED, is_url
from attend.settings import Settings
from attend.signal_table import made
from attend.sinks.base import DeadLetterHandler, Sink
from attend.sinks.log import LogSink, log_dead_letter
from attend.store.base import ScopeStore


class _FunctionSink:
    def __init__(self, deliver: Callable[[Decision], Any]) -> None:
        self._deliver = deliver

    async def deliver(self, decision: Decision) -> None:
        outcome = self._deliver(decision)
        if inspect.isawaitable(outcome):
            await outcome


def sink_of(sink: Sink | Callable[[Decision], Awaitable[object] | object] | str | None) -> Sink | None:
    """A sink from what stands for one: an object with `deliver`, a function, or `"log"`. Raises `ConfigError`."""
    if sink is None:
        return None
    if sink == "log":
        return LogSink()
    if callable(sink) or hasattr(sink, "deliver"):
        fit("sink", _called(sink), sink, awaited=False)
    if hasattr(sink, "deliver"):
        return cast("Sink", sink)
    if callable(sink):
        return _FunctionSink(sink)
    raise ConfigError(f'sink is {sink!r}, it must have `deliver`, be a function or "log"')


def dead_letter_of(
    handler: Callable[[DeadLetter], Awaitable[object] | object] | str | None,
) -> DeadLetterHandler | None:
    """A dead-letter handler from a function, async or plain, or `"log"`. Raises `ConfigError`."""
    if handler is None:
        return None
    if handler == "log":
        return log_dead_letter
    if not callable(handler):
        raise ConfigError(f'dead_letter is {handler!r}, it must be a function or "log"')
    fit("dead_letter", _called(handler), handler, awaited=False)

    async def handle(letter: DeadLetter, /) -> None:
        outcome = handler(letter)
        if inspect.isawaitable(outcome):
            await outcome

    return handle


def rules_of(
    settle: Mapping[str, Any] | Rules | None,
    *,
    judge: Judge,
    act_threshold: float | None,
    window_share: float,
    sink: bool,
    dead_letter: bool,
    on_judge_down: str | None = None,
    signals: Mapping[str, Signal | Mapping[str, Any] | None] | None = None,
) -> Rules:
    """The rules that settings add up to.

    A judge that declares a budget bounds windows to `window_share` of it, unless `max_window_bytes` is given. Raises
    `ConfigError` with every problem.
    """
    if isinstance(settle, Rules):
        rules = settle
        sized = rules.max_window_bytes != Rules().max_window_bytes
    else:
        given = dict(settle or {})
        sized = "max_window_bytes" in given
        unknown = [
            f"settle has no {name!r}; it has {', '.join(Rules.__struct_fields__)}"
            for name in given
            if name not in Rules.__struct_fields__
        ]
        if unknown:
            raise ConfigError(*unknown)
        try:
            rules = msgspec.convert(given, Rules)
        except msgspec.ValidationError as error:
            raise ConfigError(f"settle: {error}") from error
    changes: dict[str, Any] = {"sink": sink or rules.sink, "dead_letter": dead_letter or rules.dead_letter}
    if act_threshold is not None:
        changes["act_threshold"] = act_threshold
    problems: list[str] = []
    try:
        if signals:
            changes["signals"] = made(signals)
    except ConfigError as error:
        problems += error.problems
    if on_judge_down in {None, *OnJudgeDown}:
        changes["on_judge_down"] = OnJudgeDown(on_judge_down or rules.on_judge_down)
    else:
        problems.append(f"on_judge_down is {on_judge_down!r}, it must be one of {', '.join(OnJudgeDown)}")
    budget = budget_of(judge)
    if not 0 < window_share <= 1:
        problems.append(f"window_share is {window_share}, it must be above 0 and at most 1")
    elif budget is not None and budget.context_tokens is not None and not sized:
        changes["max_window_bytes"] = window_budget(
            budget.context_tokens,
            reserved_tokens=budget.reserved_tokens,
            window_share=window_share,
            bytes_per_token=budget.bytes_per_token,
        )
    rules = msgspec.structs.replace(rules, **changes)
    problems += rules.problems()
    if problems:
        raise ConfigError(*problems)
    return rules


def references(settings: Settings, environ: Mapping[str, str], *, asks: bool = True) -> dict[str, Any]:
    """What `judge`, `sink` and `dead_letter` name.

    A hosted judge has its key from the settings or from `environ`; a process that never asks one needs none.
    Raises `ConfigError` with every name that leads nowhere, and with what a judge lacks.
    """
    problems: list[str] = []
    found: dict[str, Any] = {}
    try:
        found["judge"] = judge_of(settings, environ, asks=asks)
    except ConfigError as error:
        problems += error.problems
    for what in ("sink", "dead_letter"):
        reference: str | None = getattr(settings, what)
        if reference is None or ":" not in reference:
            found[what] = reference
            continue
        if what == "sink" and is_url(reference):
            found[what] = _webhook(reference, settings.sink_secret)
            continue
        try:
            place = f"--{what.replace('_', '-')}"
            found[what] = fit(place, reference, named(place, reference), awaited=False)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return found


def judge_of(settings: Settings, environ: Mapping[str, str], *, asks: bool = True) -> Judge:
    """The judge that settings describe. Raises `ConfigError`."""
    problems: list[str] = []
    judges: list[Judge] = []
    for name in settings.judge.split(","):
        try:
            judges.append(_judge(name, settings, environ, asks))
        except ConfigError as error:
            problems += [each if each.startswith("--") else f"--judge: {each}" for each in error.problems]
    if problems:
        raise ConfigError(*problems)
    return judges[0] if len(judges) == 1 else cascade(*judges, below=settings.judge_below)


def _judge(name: str, settings: Settings, environ: Mapping[str, str], asks: bool) -> Judge:
    if name == "rule":
        return rule
    if name not in HOSTED:
        return cast("Judge", fit("--judge", name, named("--judge", name), awaited=True))
    # It takes an HTTP client along, which whoever asks no server does without.
    from attend.judges.named import hosted_judge

    key = settings.judge_key or environ.get("ATTEND_JUDGE_KEY") or ("" if asks else "none")
    return hosted_judge(
        name,
        {**environ, "ATTEND_JUDGE_KEY": key},
        model=settings.judge_model,
        url=settings.judge_url,
        criteria=settings.criteria,
        context_tokens=settings.judge_context_tokens,
    )


def _webhook(url: str, secret: str | None) -> Sink:
    # It takes an HTTP client along, which whoever posts nothing does without.
    from attend.sinks.webhook import webhook

    return webhook(url, secret)


def named(place: str, reference: str) -> Any:
    """The object that `module:name` stands for. Raises `ConfigError`, which begins with the place it was given."""
    module_name, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        problem = f"{place}: {module_name} cannot be imported: {type(error).__name__}: {error}"
        raise ConfigError(problem) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{place}: {module_name} has no {path}")
        found = getattr(found, part)
    if not callable(found) and not hasattr(found, "deliver"):
        raise ConfigError(f"{place}: {reference} cannot be called")
    return found


def fit(place: str, reference: str, found: Any, *, awaited: bool) -> Any:
    """What was found, unless it is plain that it would fail each time it is called. Raises `ConfigError`."""
    if inspect.isclass(found):
        raise ConfigError(f"{place}: {reference} is a class; name an object that was made from it")
    if hasattr(found, "deliver"):
        found_name, call, awaited = f"{reference}.deliver", found.deliver, True
    else:
        found_name, call = reference, found
    try:
        inspect.signature(call).bind(None)
    except TypeError:
        raise ConfigError(f"{place}: {found_name} does not take the one argument that it is given") from None
    except ValueError:
        return found  # Written in C, it does not say what it takes.
    whole: Any = inspect.unwrap(call)
    says = str(getattr(whole, "__annotations__", {}).get("return", ""))
    sure = (inspect.isfunction(whole) or inspect.ismethod(whole)) and whole.__name__ != "<lambda>"
    if awaited and sure and not inspect.iscoroutinefunction(whole) and not re.search("Await|Corout", says):
        raise ConfigError(f"{place}: {found_name} is a plain function, it must be an async def")
    return found


def _called(found: object) -> str:
    return str(getattr(found, "__qualname__", type(found).__name__))


def checked_judge(judge: Judge) -> Judge:
    """The judge. Raises `ConfigError` where it is plain that it would fail each time it is asked."""
    if not callable(judge):
        raise ConfigError(f"judge is {judge!r}, it must be an async function")
    return cast("Judge", fit("judge", _called(judge), judge, awaited=True))


def store_at(url: str, prefix: str) -> ScopeStore:
    """The Redis store at a URL. Raises `ConfigError` for a URL it cannot be."""
    # Whoever keeps scopes in memory needs no Redis client.
    from attend.store.redis import RedisStore

    return RedisStore(url, prefix=prefix)
