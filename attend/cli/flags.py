"""What the tools take on the command line, read as the settings are: a flag beats a variable, all problems at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from attend import option
from attend.core.types import DELIVERED
from attend.errors import ConfigError
from attend.option import Option, integer, share
from attend.options import OPTIONS
from attend.settings import Settings

DEFAULT_URL = f"http://{Settings().host}:{Settings().port}"


def _url(texts: Sequence[str]) -> str:
    text = texts[-1].strip().rstrip("/")
    if text.startswith("unix:/"):
        return text
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise ValueError(
            f"{texts[-1]!r} is no URL of a server, such as {DEFAULT_URL} or unix:/path/to/the.sock"
        )
    return text


REMOTE = (
    Option("url", _url, "where attend serves", DEFAULT_URL),
    Option("socket", option.socket, "path of the unix socket it serves on, instead of a URL", "none"),
    Option("token", option.token, "the token that it asks for", "none", secret=True),
)
"""How a tool finds the server."""


def read(
    options: Iterable[Option], given: Mapping[str, Sequence[str]], environ: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of options by name, and the place each was given at. Raises `ConfigError` with all that is wrong."""
    problems: list[str] = []
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for each in options:
        texts, place = given.get(each.name), _flags(each)
        if not texts:
            variable = environ.get(each.variable)
            if not variable:
                continue
            texts, place = [variable], each.variable
        try:
            values[each.name] = each.parse(texts)
            places[each.name] = place
        except ValueError as error:
            problems += [f"{place}: {line}" for line in str(error).splitlines()]
    if problems:
        raise ConfigError(*problems)
    return values, places


SHORT = {"count": "-n"}
"""The short flags, by the name of the option."""


def _flags(each: Option) -> str:
    return f"{SHORT[each.name]} ({each.flag})" if each.name in SHORT else each.flag


PUSH = (
    Option("body_lines", integer(1, 100_000), "lines that go into one request at most", "500"),
    Option("retry_for", integer(0), "seconds without any headway after which it gives up", "60"),
)


def _routes(texts: Sequence[str]) -> list[str]:
    found = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    wrong = [name for name in found if name not in set(DELIVERED)]
    if wrong or not found:
        known = ", ".join(sorted(DELIVERED))
        raise ValueError(
            "\n".join(f"{name!r} is no route of a decision; they are {known}" for name in wrong or [""])
        )
    return list(dict.fromkeys(found))


def _confidence(texts: Sequence[str]) -> float:
    value = share(texts)
    if not 0 <= value <= 1:
        raise ValueError(f"{texts[-1]!r} is not a number from 0 to 1")
    return value


def _text(texts: Sequence[str]) -> str:
    if not texts[-1]:
        raise ValueError("is empty")
    return texts[-1]


def _from(texts: Sequence[str]) -> str:
    text = texts[-1].strip()
    # A cursor is sealed: what can be told from its text is that it could be one.
    if text not in ("start", "now") and not re.fullmatch(r"[A-Za-z0-9_-]{32,512}", text):
        raise ValueError(f"{text!r} is no cursor; give `start`, `now` or a cursor of `attend tail --json`")
    return text


_SECONDS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}


def _since(texts: Sequence[str]) -> int:
    """Milliseconds ago."""
    found = re.fullmatch(r"([0-9]{1,9}) ?(s|min|m|h|d)", texts[-1].strip())
    if found is None:
        raise ValueError(f"{texts[-1]!r} is no length of time, such as 90s, 15min, 2h or 7d")
    return int(found[1]) * _SECONDS[found[2]] * 1000


TAIL = (
    Option("scope", _text, "only decisions about exactly this scope", "all"),
    Option("scope_prefix", _text, "only scopes that begin with this", "all"),
    Option("route", _routes, "only this route; may be repeated", "all"),
    Option("min_confidence", _confidence, "only decisions whose judge was at least this sure", "all"),
    Option("from", _from, "`start` for the oldest decision kept, `now`, or a cursor of `--json`", "now"),
    Option("since", _since, "begin with the decisions of so long ago, such as 15min or 2h", "now"),
    Option("count", integer(1), "end after so many decisions", "never"),
)


DEAD = (Option("scope", _text, "only the dead letters of this scope", "all"),)

STORE = tuple(each for each in OPTIONS if each.name in ("store", "data", "prefix"))
"""How `attend doctor` and `attend dead` find the store."""
