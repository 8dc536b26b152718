"""`attend token new NAME`: a token for a principal, shown once, and what a file keeps of it."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from attend.cli.flags import read
from attend.cli.screen import complain
from attend.errors import ConfigError
from attend.option import Option, word
from attend.principal import (
    Principal,
    Right,
    block,
    hash_of,
    named,
    new_token,
    prefixes,
    read_content,
    rights,
)

TOKEN = (
    Option("rights", rights, "what it may do: ingest, read, admin, with commas between", "read"),
    Option("scopes", prefixes, "prefixes of the scopes it may do it in, with commas between", "all"),
    Option("file", word, "add it to this file, in place of printing what to paste", "none"),
)


def run_token(name: str, given: Mapping[str, Sequence[str]]) -> int:
    """Make a token and return the exit code. Raises `ConfigError` with all that is wrong."""
    values, _ = read(TOKEN, given, {})
    try:
        called = named([name])
    except ValueError as error:
        raise ConfigError(f"NAME: {error}") from error
    token = new_token()
    principal = Principal(
        called,
        values.get("rights", frozenset({Right.READ})),
        values.get("scopes", ("",)),
        hash=hash_of(token.encode()),
    )
    file: str | None = values.get("file")
    if file is not None:
        _append(Path(file).expanduser(), block(principal))
    sys.stdout.write(f"{token}\n" if file is not None else f"{token}\n\n{block(principal)}")
    sys.stdout.flush()
    kept = "the file holds" if file is not None else "put the block into the file of --principals: it holds"
    complain(f"the token is shown this once; {kept} only its hash")
    return 0


def _append(file: Path, text: str) -> None:
    """Add a block to a file, which is made where there is none, for the user alone."""
    try:
        before = file.read_text(encoding="utf-8-sig") if file.exists() else ""
        whole = before + (
            "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
        )
        read_content(tomllib.loads(whole + text))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--file: {file} cannot be read: {error}") from error
    except ValueError as error:
        raise ConfigError(*(f"--file: {line}" for line in str(error).splitlines())) from error
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as out:
            out.write((whole + text)[len(before) :])
    except OSError as error:
        raise ConfigError(f"--file: {file} cannot be written: {error.strerror}") from error
