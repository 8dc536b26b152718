"""From an event's name to its kind."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import translate
from re import Pattern, compile

from attend.core.types import Kind
from attend.errors import ConfigError


class Kinds:
    """Names to kinds: an exact name first, then case-sensitive globs in the order given, then the default.

    A name with `*`, `?` or `[` in it is a glob. Raises `ConfigError` for a kind there is not.
    """

    def __init__(self, names: Mapping[str, str] | None = None, default: str = Kind.CONSEQUENCE) -> None:
        problems: list[str] = []
        self._default = _kind("the default kind", default, problems)
        self._exact: dict[str, Kind] = {}
        self._globs: list[tuple[Pattern[str], Kind]] = []
        for name, value in (names or {}).items():
            kind = _kind(f"the kind of {name!r}", value, problems)
            if any(mark in name for mark in "*?["):
                self._globs.append((compile(translate(name)), kind))
            self._exact[name] = kind
        if problems:
            raise ConfigError(*problems)

    def __call__(self, name: str) -> Kind:
        """The kind of an event with this name."""
        found = self._exact.get(name)
        if found is not None:
            return found
        for pattern, kind in self._globs:
            if pattern.match(name):
                return kind
        return self._default


def _kind(what: str, value: str, problems: list[str]) -> Kind:
    try:
        return Kind(value)
    except ValueError:
        problems.append(f"{what} is {value!r}, it must be one of {', '.join(Kind)}")
        return Kind.CONSEQUENCE
