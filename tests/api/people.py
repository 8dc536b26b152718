"""Principals for tests: their tokens, and the file that knows them."""

from __future__ import annotations

import os
from pathlib import Path

from attend.principal import Principal, Right, block, hash_of

READ, INGEST = frozenset({Right.READ}), frozenset({Right.INGEST})
BOTH = READ | INGEST


def token_of(name: str) -> str:
    """The token of a principal."""
    return f"tok-{name}-s3cret"


class People:
    """A file of principals; each change of it is one rename, as an editor makes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "principals.toml"
        self._known: dict[str, Principal] = {}

    def put(self, name: str, rights: frozenset[Right], *scopes: str) -> None:
        """Add a principal, or change what it may."""
        self._known[name] = Principal(name, rights, scopes, hash=hash_of(token_of(name).encode()))
        self.write("\n".join(map(block, self._known.values())))

    def drop(self, name: str) -> None:
        """Withdraw a token."""
        del self._known[name]
        self.write("\n".join(map(block, self._known.values())))

    def write(self, text: str) -> None:
        """What the file says from now on."""
        new = self.path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.path)
