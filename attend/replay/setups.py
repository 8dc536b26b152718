"""The setups of a replay: settings from flags, variables and a file, and the other one to compare them with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from attend import table
from attend.config_file import read_file
from attend.errors import ConfigError
from attend.options import OPTIONS
from attend.settings import CONFIG, Settings

_DECIDING = {
    *("judge", "criteria", "guidance", "predicates", "on_judge_down"),
    *("kinds", "default_kind", "act_threshold", "window_share", "settle"),
}

DECIDING = tuple(each for each in OPTIONS if each.name in _DECIDING or each.name.startswith("judge_"))
"""The settings that change what is decided: those a replay takes."""

NAMES = frozenset(each.name for each in DECIDING)


def this(flags: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> Settings:
    """The setup that is replayed. Raises `ConfigError` with every problem."""
    return Settings.read(flags, environ, NAMES)


def other(
    what: Sequence[str], flags: Mapping[str, Sequence[str]], environ: Mapping[str, str], base: Settings
) -> Settings:
    """The setup to compare with: `key=value` of the settle table, a `.toml` file, or a file of `ATTEND_` variables.

    Of `key=value` several may be given, and all else is as in `base`. What a file says wins, and what it leaves out
    is as flags and variables say, without the file that `--config` names. Raises `ConfigError` with every problem.
    """
    pairs = [text for text in what if re.match(r"\s*[a-z_]+\s*=", text)]
    paths = [text for text in what if text not in pairs]
    if len(paths) > 1 or (paths and pairs):
        raise ConfigError("--against: give one file, or key=value of the settle table, not several setups")
    if pairs:
        try:
            return _over(base, Settings(settle=table.settle(pairs)), {"settle"})
        except ValueError as error:
            raise ConfigError(*(f"--against: {line}" for line in str(error).splitlines())) from None
    [path] = paths
    if path.endswith(".toml"):
        theirs, said = Settings.read({"config": [path]}, {}, NAMES), set(read_file(path).given) & NAMES
    else:
        variables = _variables(path)
        theirs = Settings.read({}, variables, NAMES)
        said = {each.name for each in DECIDING if each.variable in variables}
    mine = {name: texts for name, texts in flags.items() if name != "config"}
    unfiled = {name: value for name, value in environ.items() if name != CONFIG}
    return _over(Settings.read(mine, unfiled, NAMES), theirs, said)


def _over(base: Settings, theirs: Settings, said: set[str]) -> Settings:
    """One setup with what another says put over it, the settle table key by key."""
    changes: dict[str, Any] = {name: getattr(theirs, name) for name in said}
    if "settle" in changes:
        changes["settle"] = {**base.settle, **theirs.settle}
    made = replace(base, **changes)
    if problems := made.rules.problems():
        raise ConfigError(*(f"--against: {problem}" for problem in problems))
    return made


def _variables(path: str) -> dict[str, str]:
    """`ATTEND_NAME=value`, a line each; `export` in front, quotes around, `#` lines and blank ones are let be."""
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"--against: {path}: {why}; give a .toml file, a file of ATTEND_ variables, or key=value"
        ) from None
    known = {each.variable for each in DECIDING}
    found: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not equals or name not in known:
            problems.append(
                f"--against: {path}: line {number}: it is no ATTEND_ variable that decides anything"
            )
            continue
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name] = value
    if problems:
        raise ConfigError(*problems)
    return found
