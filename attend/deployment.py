"""From settings to a running app: the judge, sink and handler they name, and the store they point to.

Every process of a deployment builds its app here, so that all of them step scopes with the same rules.
"""

from __future__ import annotations

import importlib
from typing import Any

from attend.app import Attend
from attend.errors import ConfigError
from attend.judges.rule import rule
from attend.settings import Settings
from attend.store.redis import RedisStore


def app_of(settings: Settings) -> Attend:
    """The app of a process. Raises `ConfigError` with every name that leads nowhere.

    `settings.store` must be a URL by now: who serves with the bundled server has started it.
    """
    named = references(settings)
    assert settings.store is not None, "the bundled server has a URL once it is started"
    return Attend(
        store=RedisStore(settings.store, prefix=settings.prefix),
        kind=settings.kinds,
        default_kind=settings.default_kind,
        judge=named["judge"],
        sink=named["sink"],
        dead_letter=named["dead_letter"],
        settle=settings.settle,
        act_threshold=settings.act_threshold,
    )


def references(settings: Settings) -> dict[str, Any]:
    """What `judge`, `sink` and `dead_letter` name. Raises `ConfigError` with every name that leads nowhere."""
    problems: list[str] = []
    named = {
        name: _named(name, getattr(settings, name), problems) for name in ("judge", "sink", "dead_letter")
    }
    if problems:
        raise ConfigError(*problems)
    return named


def _named(name: str, text: str | None, problems: list[str]) -> Any:
    if text is None or ":" not in text:
        return rule if text == "rule" else text
    place = "--" + name.replace("_", "-")
    module, _, path = text.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - it is not our module
        problems.append(f"{place}: {module} cannot be imported: {type(error).__name__}: {error}")
        return None
    for part in path.split("."):
        if not hasattr(found, part):
            problems.append(f"{place}: {module} has no {path}")
            return None
        found = getattr(found, part)
    if name != "sink" and not callable(found):
        problems.append(f"{place}: {text} cannot be called")
    return found
