"""Where the store is that a tool looks into, from the flags and variables that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from attend.cli.flags import STORE, read
from attend.cli.folder import Folder, default_data
from attend.cli.screen import complain
from attend.errors import ConfigError, StoreUnavailableError
from attend.option import without_password


class Place(Struct, frozen=True):
    """A server's URL and the prefix of its keys."""

    url: str
    prefix: str

    def complain(self, error: StoreUnavailableError) -> None:
        """Say that it cannot be reached."""
        complain(f"{without_password(self.url)}: {error}")
        if self.url.startswith("unix://"):
            complain("is attend serve running? Give --store or --data if it is another one than this")


def place_of(given: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> Place:
    """The store that is named, or else the one of the user's attend serve. Raises `ConfigError`."""
    values, places = read(STORE, given, environ)
    if "store" in values and "data" in values:
        flags = [name for name in ("store", "data") if places[name].startswith("--")]
        if len(flags) != 1:
            raise ConfigError(
                f"{places['data']} and {places['store']}: they name two stores; give one of them"
            )
        del values["data" if flags == ["store"] else "store"]
    if values.get("store") == "memory":
        raise ConfigError(
            f"{places['store']}: a store in memory keeps nothing that could be looked over; "
            "give the URL of a server, or leave it out for the one that attend serve brings"
        )
    return Place(
        values.get("store") or _bundled(values.get("data"), environ), values.get("prefix", "default")
    )


def _bundled(data: str | None, environ: Mapping[str, str]) -> str:
    folder = (default_data(environ) if data is None else Path(data)) / "valkey"
    return "unix://" + quote(str(Folder(folder.resolve(), -1, temporary=False).socket))
