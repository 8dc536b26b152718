"""The Lua scripts: read from the package, with their includes put in."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files

NAMES = (
    *("acknowledge", "append", "claim", "commit", "load", "read"),
    *("record", "register", "release", "remove", "trim", "wake"),
    *("dismiss", "keep", "rouse", "take"),
)
"""Every script, by the name of its file."""

_INCLUDE = re.compile(r"^-- @include (\w+)[^\S\n]*$", re.MULTILINE)


def source(name: str) -> str:
    """A script's text, ready to be loaded."""
    return expand(_packaged(name), lambda fragment: _packaged(f"include/{fragment}"))


def _packaged(name: str) -> str:
    return files("attend.lua").joinpath(f"{name}.lua").read_text(encoding="utf-8")


def expand(text: str, read: Callable[[str], str]) -> str:
    """Put each `-- @include <name>` line's fragment, as `read` gives it, in its place, the first time it is met.

    Fragments may include others. Raises `ValueError` where one includes itself, by whatever way round.
    """
    done: set[str] = set()

    def expanded(text: str, within: tuple[str, ...]) -> str:
        def fragment(match: re.Match[str]) -> str:
            name = match[1]
            if name in within:
                raise ValueError(f"circular include: {' -> '.join((*within, name))}")
            if name in done:
                return ""
            done.add(name)
            return expanded(read(name), (*within, name)).rstrip("\n")

        return _INCLUDE.sub(fragment, text)

    return expanded(text, ())
