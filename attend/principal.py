"""A principal: whom a token stands for, what it may do, and within which scopes. And how a file of them is read.

The file holds hashes of tokens, never a token. What is wrong in it is said a line a problem.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct

from attend.option import nearest, word

NAME = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
"""What a principal may be called: it stands in addresses and in messages to models."""

RESERVED = frozenset({"token", "anyone", "nobody"})
"""Names that attend gives itself: whoever has `--token`, everybody where there is none, and who may nothing."""

KEYS = ("name", "hash", "rights", "scopes")
"""The keys of `[[principal]]`, each of them needed."""

MAX_PREFIX_BYTES = 512


class Right(StrEnum):
    """What a principal may do within its scopes."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


class Principal(Struct, frozen=True):
    """A name, rights, and the scope prefixes they hold for. `known` when a token said so, whose hash `hash` is."""

    name: str
    rights: frozenset[Right] = frozenset(Right)
    scopes: tuple[str, ...] = ("",)
    known: bool = True
    hash: str = ""

    def may(self, right: Right) -> bool:
        """Whether it has the right for any scope."""
        return right in self.rights

    def covers(self, scope: str) -> bool:
        """Whether its rights hold for this scope."""
        return scope.startswith(self.scopes)

    @property
    def visible(self) -> tuple[str, ...] | None:
        """The scope prefixes it may see; None for all."""
        return None if "" in self.scopes else self.scopes


def hash_of(token: bytes) -> str:
    """A token's hash as the file holds it. Tokens are long and random, so that a plain hash gives none away."""
    return f"sha256:{hashlib.sha256(token).hexdigest()}"


def new_token() -> str:
    """A token that nobody guesses."""
    return f"att_{secrets.token_urlsafe(32)}"


def block(principal: Principal) -> str:
    """A principal as `[[principal]]` of a file."""
    rights = [right.value for right in Right if right in principal.rights]
    lines = [
        "[[principal]]",
        f"name = {_quoted(principal.name)}",
        f"hash = {_quoted(principal.hash)}",
        f"rights = [{', '.join(map(_quoted, rights))}]",
        f"scopes = [{', '.join(map(_quoted, principal.scopes))}]",
    ]
    return "\n".join(lines) + "\n"


def read_file(path: str) -> tuple[Principal, ...]:
    """The principals of a file. Tables of another name are a configuration's, and passed over.

    Raises `ValueError` with all that is wrong, a line a problem.
    """
    try:
        content = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; it must be a file that can be read") from error
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: it is not TOML: {error}") from None
    return read_content(content)


def read_content(content: Mapping[str, Any]) -> tuple[Principal, ...]:
    """The principals in what a file says. Raises `ValueError` with all that is wrong, a line a problem."""
    problems = [
        f"[[{name}]]: there is no such table; did you mean [[principal]]?"
        for name in content
        if name != "principal" and nearest(name, ("principal",))
    ]
    tables: Any = content.get("principal", [])
    if not _is_list(tables) or not all(isinstance(each, dict) for each in tables):
        raise ValueError("principal must be a list of tables: write [[principal]] above its keys")
    found: list[Principal] = []
    for number, table in enumerate(tables, 1):
        read = _Table(number, table)
        made = read.principal()
        for other in found:
            if other.name == made.name and made.name:
                read.wrong("name", f"{made.name} is another one's already")
            if other.hash == made.hash and made.hash:
                read.wrong("hash", f"it is {other.name}'s already; each has a token of its own")
        problems += read.problems
        found.append(made)
    if problems:
        raise ValueError("\n".join(problems))
    return tuple(found)


def file(texts: Sequence[str]) -> str:
    """A setting's text as the path of such a file, which is read to see that it can be."""
    path = os.path.abspath(os.path.expanduser(word(texts)))
    read_file(path)
    return path


def rights(texts: Sequence[str]) -> frozenset[Right]:
    """Names of rights, with commas between or one by one."""
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in set(Right)]
    if wrong or not names:
        known = ", ".join(Right)
        raise ValueError(
            "\n".join(f"{name!r} is no right; they are {known}" for name in wrong) or f"give some of {known}"
        )
    return frozenset(map(Right, names))


def prefixes(texts: Sequence[str]) -> tuple[str, ...]:
    """Scope prefixes, with commas between or one by one; `*` stands for every scope."""
    found = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not found:
        raise ValueError("give prefixes of scopes such as ops/, or * for every scope")
    return tuple("" if name == "*" else name for name in dict.fromkeys(found))


def named(texts: Sequence[str]) -> str:
    """The name of a principal."""
    text = texts[-1].strip()
    if (problem := _unfit(text)) is not None:
        raise ValueError(problem)
    return text


class _Table:
    """One `[[principal]]`, and what is wrong with it. Nothing of it is shown back but its name."""

    def __init__(self, number: int, table: Mapping[str, Any]) -> None:
        self._table = table
        name: Any = table.get("name")
        self._place = f"[[principal]] {name if isinstance(name, str) and name else f'number {number}'}"
        self.problems: list[str] = []

    def principal(self) -> Principal:
        for key in self._table:
            if key not in KEYS:
                close = nearest(key, KEYS)
                hint = f"did you mean {close}?" if close else f"the keys are {', '.join(KEYS)}"
                self.wrong(key, f"there is no such key; {hint}")
        return Principal(self._name(), self._rights(), self._scopes(), hash=self._hash())

    def wrong(self, key: str, problem: str) -> None:
        self.problems.append(f"{self._place}: {key}: {problem}")

    def _name(self) -> str:
        name: Any = self._table.get("name")
        if not isinstance(name, str):
            self.wrong("name", "it must be a text")
            return ""
        if (problem := _unfit(name)) is not None:
            self.wrong("name", problem)
        return name

    def _hash(self) -> str:
        text: Any = self._table.get("hash")
        if not isinstance(text, str) or not re.fullmatch(r"sha256:[0-9a-f]{64}", text):
            self.wrong("hash", "it must be sha256: and 64 digits, as attend token new prints them")
            return ""
        return text

    def _rights(self) -> frozenset[Right]:
        given: Any = self._table.get("rights")
        if not _is_list(given) or not given or any(right not in set(Right) for right in given):
            self.wrong("rights", f"it must be a list of some of {', '.join(Right)}")
            return frozenset()
        return frozenset(map(Right, given))

    def _scopes(self) -> tuple[str, ...]:
        given: Any = self._table.get("scopes")
        if not _is_list(given) or not given or not all(isinstance(each, str) for each in given):
            self.wrong("scopes", 'it must be a list of prefixes such as "ops/"; "" is every scope')
            return ()
        if any(len(each.encode()) > MAX_PREFIX_BYTES for each in given):
            self.wrong("scopes", f"a prefix is longer than the {MAX_PREFIX_BYTES} bytes of a scope")
        return tuple(given)


def _unfit(name: str) -> str | None:
    if not re.fullmatch(NAME, name):
        return "it must be 1 to 64 letters, digits and . _ @ -, a letter or digit first"
    return f"{name} is a name that attend gives itself" if name in RESERVED else None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
