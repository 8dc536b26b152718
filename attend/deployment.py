"""From settings to an app: the judge, sink and handler they name, and the store they point to.

Every process of a deployment builds its app here, so that all of them step scopes with the same rules.
"""

from __future__ import annotations

import importlib
from typing import Any

from attend.app import Attend
from attend.call import Isolation
from attend.errors import ConfigError
from attend.judges.rule import rule
from attend.settings import Settings
from attend.store.base import ScopeStore
from attend.trace import Observer

_CLOSING_MS = 2000
"""What is left of a shutdown's grace for handing leases back, once calls in hand had the rest."""


def app_of(
    settings: Settings,
    store: ScopeStore | None = None,
    *,
    observe: Observer | None = None,
    isolation: Isolation | None = None,
) -> Attend:
    """The app of a process, on the store given or the one at the settings' URL; in memory without either.

    Raises `ConfigError` with every name that leads nowhere.
    """
    found = references(settings)
    if store is None and settings.store not in (None, "memory"):
        # Whoever keeps scopes in memory needs no Redis client.
        from attend.store.redis import RedisStore

        store = RedisStore(settings.store or "", prefix=settings.prefix)
    return Attend(
        store=store,
        kind=settings.kinds,
        default_kind=settings.default_kind,
        judge=found["judge"],
        sink=found["sink"],
        dead_letter=found["dead_letter"],
        settle=settings.rules,
        observe=observe,
        slots=settings.concurrency,
        grace_ms=max(500, settings.shutdown_grace_ms - _CLOSING_MS),
        isolation=isolation,
    )


def references(settings: Settings) -> dict[str, Any]:
    """What `judge`, `sink` and `dead_letter` name. Raises `ConfigError` with every name that leads nowhere."""
    problems: list[str] = []
    found = {
        name: _named(name, getattr(settings, name), problems) for name in ("judge", "sink", "dead_letter")
    }
    if problems:
        raise ConfigError(*problems)
    return found


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
    if not callable(found) and not (name == "sink" and hasattr(found, "deliver")):
        problems.append(f"{place}: {text} cannot be called")
    return found
