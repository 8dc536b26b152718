"""The client that a tool's flags and variables describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attend.cli.flags import DEFAULT_URL, REMOTE, read
from attend.client import Client
from attend.errors import ConfigError


def client_of(
    given: Mapping[str, Sequence[str]], environ: Mapping[str, str], *, patience: float = 60
) -> Client:
    """The client that flags and variables describe. Raises `ConfigError`."""
    values, places = read(REMOTE, given, environ)
    if "url" in values and "socket" in values:
        flags = [name for name in ("url", "socket") if places[name].startswith("--")]
        if len(flags) != 1:
            raise ConfigError(
                f"{places['url']} and {places['socket']}: they name two servers; give one of them"
            )
        del values["socket" if flags == ["url"] else "url"]
    return Client(
        values.get("url", DEFAULT_URL), values.get("token"), uds=values.get("socket"), patience=patience
    )
