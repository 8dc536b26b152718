"""What a deployment's settings name: judges, sinks and stores, found and put together.

Every process of a deployment builds the same, so that all step scopes with the same rules.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from attend.core.rules import Rules, window_budget
from attend.core.types import DeadLetter, Decision
from attend.errors import ConfigError
from attend.judges.base import Judge
from attend.judges.rule import rule
from attend.settings import Settings
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
) -> Rules:
    """The rules that settings add up to.

    A judge that declares `context_tokens` bounds windows, unless `max_window_bytes` is given. Raises
    `ConfigError` with every problem.
    """
    if isinstance(settle, Rules):
        rules = settle
    else:
        given = dict(settle or {})
        problems = [
            f"settle has no {name!r}; it has {', '.join(Rules.__struct_fields__)}"
            for name in given
            if name not in Rules.__struct_fields__
        ]
        if problems:
            raise ConfigError(*problems)
        try:
            rules = msgspec.convert(given, Rules)
        except msgspec.ValidationError as error:
            raise ConfigError(f"settle: {error}") from error
    changes: dict[str, Any] = {"sink": sink or rules.sink, "dead_letter": dead_letter or rules.dead_letter}
    if act_threshold is not None:
        changes["act_threshold"] = act_threshold
    tokens = getattr(judge, "context_tokens", None)
    if tokens is not None and rules.max_window_bytes == Rules().max_window_bytes:
        changes["max_window_bytes"] = window_budget(tokens, window_share=window_share)
    rules = msgspec.structs.replace(rules, **changes)
    if problems := rules.problems():
        raise ConfigError(*problems)
    return rules


def references(settings: Settings) -> dict[str, Any]:
    """What `judge`, `sink` and `dead_letter` name. Raises `ConfigError` with every name that leads nowhere."""
    problems: list[str] = []
    found: dict[str, Any] = {}
    for what in ("judge", "sink", "dead_letter"):
        reference: str | None = getattr(settings, what)
        if reference is None or ":" not in reference:
            found[what] = rule if reference == "rule" else reference
            continue
        try:
            found[what] = named(f"--{what.replace('_', '-')}", reference)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return found


def judge_named(reference: str) -> Judge:
    """`rule`, or a judge as `module:name`. Raises `ConfigError`."""
    return rule if reference == "rule" else cast("Judge", named("--judge", reference))


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


def store_at(url: str, prefix: str) -> ScopeStore:
    """The Redis store at a URL. Raises `ConfigError` for a URL it cannot be."""
    # Whoever keeps scopes in memory needs no Redis client.
    from attend.store.redis import RedisStore

    return RedisStore(url, prefix=prefix)
