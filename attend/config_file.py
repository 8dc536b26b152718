"""A configuration file, `attend.toml`: what it gives for each setting, and all that is wrong with its form.

A table's keys are the settings by name; `[kinds]` and `[settle]` are settings themselves, `[judge]` and `[[sink]]`
have shorter names for theirs. What a value says is checked by the setting's own reader.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct

from attend.option import Option, nearest
from attend.options import OPTIONS
from attend.table import SETTLE

SINK = {"url": "sink", "name": "sink", "secret": "sink_secret"}
"""The keys of `[[sink]]`, with the settings they are."""


class Given(Struct, frozen=True):
    """Where something was said, and the texts that were given for it."""

    place: str
    texts: tuple[str, ...]


class File(Struct, frozen=True):
    """What a file gives, by the name of the setting, and a line for each problem."""

    given: dict[str, Given] = {}
    problems: tuple[str, ...] = ()


def tables() -> dict[str, dict[str, Option]]:
    """The settings of each table by their key there; a setting that is a whole table has the key ""."""
    found: dict[str, dict[str, Option]] = {}
    for each in OPTIONS:
        found.setdefault(each.table, {})[each.key] = each
    known = {each.name: each for each in OPTIONS}
    found["sink"] = {key: known[name] for key, name in SINK.items() if name in known}
    return found


def read_file(path: str) -> File:
    """Read a file. It raises nothing: a file that cannot be read is a problem."""
    shown = path
    try:
        text = Path(path).expanduser().read_bytes().decode("utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        return File(problems=(f"{shown}: {error.strerror}; name a file that can be read",))
    except UnicodeDecodeError:
        return File(problems=(f"{shown}: it is not UTF-8",))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return File(problems=(f"{shown}: it is not TOML: {error}",))
    return _Reading(shown).whole(content)


class _Reading:
    def __init__(self, file: str) -> None:
        self._file = file
        self._tables = tables()
        self._given: dict[str, Given] = {}
        self._problems: list[str] = []

    def whole(self, content: Mapping[str, Any]) -> File:
        for name, value in content.items():
            if name == "sink":
                self._sink(value)
            elif name == "source":
                self._sources(value)
            elif name == "principal":
                self._principals()
            elif name in self._tables:
                self._table(name, value)
            elif not _is_table(value) and (home := self._home(name)) is not None:
                self._wrong(name, f"it stands in no table; it goes {home}")
            else:
                known = [*self._tables, "principal"]
                self._wrong(f"[{name}]", f"there is no such table; {_hint(name, known, 'tables')}")
        return File(self._given, tuple(self._problems))

    def _table(self, name: str, value: Any, place: str | None = None) -> None:
        place = place or f"[{name}]"
        if not _is_table(value):
            self._wrong(name, f"is {_kind(value)}, it must be a table: write {place} above its keys")
            return
        options = self._tables[name]
        if "" in options:
            self._give(options[""], place, value)
            return
        for key, inner in value.items():
            if key in options:
                self._give(options[key], f"{place} {key}", inner)
            elif name != "sink" and (home := self._home(key)) is not None:
                self._wrong(f"{place} {key}", f"it goes {home}")
            else:
                self._wrong(f"{place} {key}", f"there is no such key; {_hint(key, options, 'keys')}")

    def _sources(self, value: Any) -> None:
        option = self._tables["source"][""]
        if not _is_list(value) or not all(_is_table(each) for each in value):
            self._wrong(
                "source", f"is {_kind(value)}, it must be a list of tables: write [[source]] above its keys"
            )
        else:
            self._given[option.name] = Given(f"{self._file}: [[source]]", (json.dumps(value, default=str),))

    def _sink(self, value: Any) -> None:
        if not _is_list(value) or not all(_is_table(each) for each in value):
            self._wrong(
                "sink", f"is {_kind(value)}, it must be a list of tables: write [[sink]] above its keys"
            )
            return
        for each in value[:1]:
            self._table("sink", each, "[[sink]]")
        if len(value) > 1:
            self._wrong("[[sink]]", f"there are {len(value)} of them, and this version takes one")

    def _principals(self) -> None:
        """The setting is a file of them, and this is one: so it is read again when it changes."""
        option = self._tables["serve"]["principals"]
        if option.name in self._given:
            self._wrong(
                "[[principal]]", f"{self._given[option.name].place} says it already; give one of them"
            )
        else:
            self._given[option.name] = Given(self._file, (str(Path(self._file).expanduser().absolute()),))

    def _give(self, option: Option, place: str, value: Any) -> None:
        if not _fits(value, option.schema):
            self._wrong(place, f"is {_kind(value)}, it must be {_wanted(option.schema)}")
        elif option.name in self._given:
            self._wrong(place, f"{self._given[option.name].place} says it already; give one of them")
        else:
            self._given[option.name] = Given(f"{self._file}: {place}", (_text(value),))

    def _home(self, name: str) -> str | None:
        """Where a setting of this name goes, as the end of a sentence."""
        if name in SETTLE:
            return "in [settle]"
        for each in OPTIONS:
            if name in (each.name, each.flag.removeprefix("--")):
                if not each.key:
                    return f"in a table of its own, [{each.table}]"
                return f"in [{each.table}]" + ("" if each.key == name else f" as {each.key}")
        return None

    def _wrong(self, place: str, problem: str) -> None:
        self._problems.append(f"{self._file}: {place}: {problem}")


def _hint(name: str, known: Iterable[str], what: str) -> str:
    close = nearest(name, known)
    return f"did you mean {close}?" if close else f"the {what} are {', '.join(known)}"


_WORDS = {
    "string": "a text in quotes",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list of texts",
    "object": "a table",
}


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    types: Any = schema.get("type", "string")
    return (types,) if isinstance(types, str) else tuple(types)


def _wanted(schema: Mapping[str, Any]) -> str:
    return " or ".join(_WORDS[each] for each in _types(schema))


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    types = _types(schema)
    if isinstance(value, bool):
        return False
    if _is_list(value):
        return "array" in types and all(isinstance(each, str) for each in value)
    return (
        (isinstance(value, str) and "string" in types)
        or (isinstance(value, int) and ("integer" in types or "number" in types))
        or (isinstance(value, float) and "number" in types)
        or (_is_table(value) and "object" in types)
    )


def _kind(value: Any) -> str:
    """What a value is, in words: what it says may be a secret."""
    if isinstance(value, bool):
        return "true or false"
    if _is_list(value):
        return "a list"
    for kind, words in ((str, "a text"), (int, "a whole number"), (float, "a number"), (dict, "a table")):
        if isinstance(value, kind):
            return words
    return "a date or time"


def _text(value: Any) -> str:
    """The value as the text of the setting's variable."""
    if _is_list(value):
        return ",".join(str(each) for each in value)
    return json.dumps(value, default=str) if _is_table(value) else str(value)


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
