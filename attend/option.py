"""One setting: its flag, its variable, how its text is read, and how it is written back.

A reader takes every text that was given for the setting and raises `ValueError` saying what is wrong and what
would be right, a line a problem.
"""

from __future__ import annotations

import difflib
import ipaddress
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from attend.core.types import Kind

SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""How long a path the system takes for a unix socket."""

KINDS = ", ".join(Kind)
HOSTED = ("jev", "decisions", "llm")
"""The judges that ask a server."""


def _text_schema() -> Mapping[str, Any]:
    return {"type": "string"}


_SINGULAR = {"allow_hosts": "--allow-host", "sources": "--source"}
_json = msgspec.json.Encoder().encode


class Option(Struct, frozen=True):
    """A setting by the name of its field in `Settings`. `default` is how it is shown to people.

    A `secret` is never shown. An empty variable is as good as none, unless it is `strict`: then it is an error.
    `merges` says that what the flag, the variable and the file give is put together, key by key. `schema` is the
    JSON schema of what a configuration file may give for it, in its `table` under `key`; a setting whose key is
    empty is the whole table.
    """

    name: str
    parse: Callable[[Sequence[str]], Any]
    help: str
    default: str
    secret: bool = False
    strict: bool = False
    merges: bool = False
    schema: Mapping[str, Any] = field(default_factory=_text_schema)
    table: str = "serve"
    own_key: str | None = None

    @property
    def flag(self) -> str:
        """`--act-threshold`; a setting that may be repeated has its flag in the singular."""
        return _SINGULAR.get(self.name) or "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """`ATTEND_ACT_THRESHOLD`."""
        return "ATTEND_" + self.name.upper()

    @property
    def key(self) -> str:
        """What it is called in its table."""
        return self.name if self.own_key is None else self.own_key

    def text(self, value: Any) -> str:
        """A value as the text of its variable, which `parse` reads back to the same."""
        if isinstance(value, dict):
            return json.dumps(value)
        if isinstance(value, tuple):
            many = cast("tuple[str, ...] | tuple[Struct, ...]", value)
            texts = [each for each in many if isinstance(each, str)]
            return ",".join(texts) if len(texts) == len(many) else _json(many).decode()
        return str(value)


def nearest(text: str, names: Iterable[str]) -> str | None:
    """The name that the text most looks like, if any does."""
    found = difflib.get_close_matches(text, list(names), 1, 0.75)
    return found[0] if found else None


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    return re.sub(r"(?<=://).*@", "***@", url.partition("?")[0])


def word(texts: Sequence[str]) -> str:
    """Any text but nothing, without blanks around it."""
    text = texts[-1].strip()
    if not text:
        raise ValueError("is empty")
    return text


def integer(least: int, most: int | None = None) -> Callable[[Sequence[str]], int]:
    """A whole number within bounds."""
    bounds = f"{least} or more" if most is None else f"from {least} to {most}"

    def parse(texts: Sequence[str]) -> int:
        text = texts[-1].strip()
        value = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
        if value is None or value < least or (most is not None and value > most):
            raise ValueError(f"{text!r} is not a whole number {bounds}")
        return value

    return parse


def choice(*names: str) -> Callable[[Sequence[str]], str]:
    """One of the names."""
    known = " or ".join(f"`{name}`" for name in names)

    def parse(texts: Sequence[str]) -> str:
        text = texts[-1].strip()
        if text not in names:
            raise ValueError(f"{text!r} is not {known}")
        return text

    return parse


def share(texts: Sequence[str]) -> float:
    """A number above 0 and at most 1."""
    try:
        value = float(texts[-1])
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError(f"{texts[-1]!r} is not a number above 0 and at most 1")
    return value


_UNITS = {"": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3}


def size(texts: Sequence[str]) -> int:
    """Bytes, as a number or with a unit."""
    found = re.fullmatch(r"([0-9]{1,15}) ?(|kib|mib|gib)", texts[-1].strip().lower())
    if found is None or int(found[1]) == 0:
        raise ValueError(f"{texts[-1]!r} is not a size in bytes, such as 1048576 or 1MiB")
    return int(found[1]) * _UNITS[found[2]]


def store(texts: Sequence[str]) -> str:
    """`memory` or the URL of a server, told apart from what redis-py would quietly read as something else."""
    text = word(texts)
    shown = without_password(text)
    if text == "memory":
        return text
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{shown!r} is not a URL that can be read") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ValueError(f"{shown!r} is neither `memory` nor a redis://, rediss:// or unix:// URL")
    if parts.scheme == "unix":
        if not parts.path.startswith("/"):
            raise ValueError(f"{shown!r} has no path; write unix:///path/to/the.sock")
    elif port == 0 or not re.fullmatch(r"/?|/[0-9]+", parts.path):
        raise ValueError(f"{shown!r} does not end in a database number, as redis://host:6379/0 does")
    return text


def prefix(texts: Sequence[str]) -> str:
    """What keys start with: it stands inside a hash tag."""
    text = texts[-1]
    if not re.fullmatch(r"[A-Za-z0-9._:/-]{1,100}", text):
        raise ValueError(f"{text!r} is not 1 to 100 letters, digits and . _ : / -")
    return text


def reference(*names: str) -> Callable[[Sequence[str]], str]:
    """One of the names, or `module:name`."""
    known = " or ".join(f"`{name}`" for name in names)

    def parse(texts: Sequence[str]) -> str:
        text = texts[-1].strip()
        if text not in names and not re.fullmatch(
            r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", text
        ):
            raise ValueError(f"{text!r} is neither {known} nor `module:name`")
        return text

    return parse


def kind(texts: Sequence[str]) -> str:
    """The name of a kind."""
    text = texts[-1].strip()
    if text not in set(Kind):
        raise ValueError(f"{text!r} is no kind; the kinds are {KINDS}")
    return text


def folder(texts: Sequence[str]) -> str:
    """A folder, whether it is there or not."""
    return os.path.abspath(os.path.expanduser(word(texts)))


def socket(texts: Sequence[str]) -> str:
    """A path that the system takes for a unix socket."""
    text = os.path.abspath(os.path.expanduser(word(texts)))
    if len(os.fsencode(text)) > SOCKET_PATH_BYTES:
        raise ValueError(f"{text!r} is longer than the {SOCKET_PATH_BYTES} bytes a socket's path may have")
    if not os.path.isdir(os.path.dirname(text)):
        raise ValueError(f"{text!r} is in a folder that does not exist")
    return text


def token(texts: Sequence[str]) -> str:
    """A token that a header can carry."""
    text = texts[-1]
    if not text:
        raise ValueError("is empty; leave it out to go without a token")
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("a token is printable ASCII without blanks, or no header could carry it")
    return text


def hosts(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of hosts, with commas between or given one by one."""
    names = [name.strip().lower() for text in texts for name in text.split(",") if name.strip()]
    wrong = [
        name for name in names if not re.fullmatch(r"[a-z0-9._-]+(:[0-9]+)?|\[[0-9a-f:]+\](:[0-9]+)?", name)
    ]
    if wrong or not names:
        raise ValueError("\n".join(f"{name!r} is not the name of a host" for name in wrong) or "is empty")
    return tuple(names)


def judge(texts: Sequence[str]) -> str:
    """The name of a judge, `module:name`, or several of those with commas between."""
    names = [name.strip() for name in texts[-1].split(",")]
    one = reference("rule", *HOSTED)
    for name in names:
        one([name])
    hosted = [name for name in names if name in HOSTED]
    if len(hosted) > 1:
        raise ValueError(
            f"{' and '.join(hosted)} would share one model and one address; put them together in a module of "
            "yours with `cascade`, and give that as `module:name`"
        )
    return ",".join(names)


def endpoint(texts: Sequence[str]) -> str:
    """The whole URL of a server that is sent events: https, or on this machine."""
    text = word(texts)
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("it is not a URL that can be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"{without_password(text)!r} is not a whole URL, as https://host/path is")
    if "@" in parts.netloc:
        raise ValueError("it holds a name or a password; give a key beside it instead")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError(f"http://{host} would send what happened and the key in the clear; use https")
    return text


def sink(texts: Sequence[str]) -> str:
    """`log`, `module:name`, or the address of a webhook."""
    text = texts[-1].strip()
    if is_url(text):
        return endpoint([text])
    try:
        return reference("log")([text])
    except ValueError:
        shown = without_password(text)
        raise ValueError(
            f"{shown!r} is neither `log` nor `module:name`, nor a whole URL as https://host/path is"
        ) from None


def is_url(text: str) -> bool:
    """Whether a sink's name is an address."""
    return text.startswith(("https://", "http://"))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
