"""Everything that flags and `ATTEND_` variables say, read and checked as one value.

Each setting has a flag and a variable of the same name (`--max-body`, `ATTEND_MAX_BODY`); a flag beats a variable.
All that is wrong is reported at once, each problem with its place and what would be right. `OPTIONS` is the one
list of them: the command line, the environment of child processes and the README's table follow it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from attend import option
from attend.core.rules import Rules
from attend.errors import ConfigError
from attend.option import Option

MIB = 1024 * 1024
DAY_MS = 86_400_000


class Settings(Struct, frozen=True, kw_only=True):
    """What one deployment is told. Times are milliseconds, sizes bytes.

    `store` is None for the bundled server, "memory" for the same without persistence, or the URL of a server.
    `judge` is "rule" or "module:name", `sink` and `dead_letter` are None, "log" or "module:name". `kinds` is in
    the order given. `rules` holds what `settle`, `act_threshold`, `sink` and `dead_letter` add up to.
    `concurrency` is how many runs each lane of a worker has in hand at once.
    """

    store: str | None = None
    data: str | None = None
    prefix: str = "default"
    judge: str = "rule"
    kinds: dict[str, str] = {}
    default_kind: str = "consequence"
    host: str = "127.0.0.1"
    port: int = 8787
    socket: str | None = None
    token: str | None = None
    allow_hosts: tuple[str, ...] = ()
    act_threshold: float | None = None
    settle: dict[str, Any] = {}
    sink: str | None = None
    dead_letter: str | None = None
    workers: int = 1
    concurrency: int = 32
    retain_rows: int = 100_000
    retain_ms: int = 30 * DAY_MS
    forget_ms: int = 30 * DAY_MS
    max_body: int = 32 * MIB
    max_line: int = MIB
    body_deadline_ms: int = 30_000
    max_in_flight_bytes: int = 64 * MIB
    max_in_flight_requests: int = 1000
    heartbeat_ms: int = 15_000
    poll_ms: int = 1000
    shutdown_grace_ms: int = 5000

    @property
    def rules(self) -> Rules:
        """The rules that every process of the deployment steps scopes with."""
        settle = dict(self.settle)
        if "retry_backoff_ms" in settle:
            settle["retry_backoff_ms"] = tuple(settle["retry_backoff_ms"])
        return Rules(
            **settle,
            act_threshold=self.act_threshold,
            sink=self.sink is not None,
            dead_letter=self.dead_letter is not None,
        )

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Sequence[str]],
        environ: Mapping[str, str],
        names: Collection[str] | None = None,
    ) -> Settings:
        """From flags, by setting name with every value given, and variables; a flag wins.

        Settle keys win one by one. With `names`, the variables of other settings are left alone. Raises
        `ConfigError` with every problem.
        """
        problems: list[str] = []
        values: dict[str, Any] = {}
        places: dict[str, str] = {}
        for each in OPTIONS:
            if names is not None and each.name not in names:
                continue
            sources = [(each.flag, list(flags[each.name]))] if flags.get(each.name) else []
            variable = environ.get(each.variable)
            if variable or (variable is not None and each.secret):
                sources.append((each.variable, [variable]))
            for place, texts in sources if each.merges else sources[:1]:
                places.setdefault(each.name, place)
                try:
                    value = each.parse(texts)
                except ValueError as error:
                    problems.extend(f"{place}: {line}" for line in str(error).splitlines())
                else:
                    values[each.name] = {**value, **values.get(each.name, {})} if each.merges else value
        settings = cls(**values)
        problems += _together(settings, places)
        if problems:
            raise ConfigError(*problems)
        return settings

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """From `ATTEND_` variables alone. Raises `ConfigError` with every problem."""
        return cls.read({}, environ)

    def to_env(self) -> dict[str, str]:
        """The variables that give exactly these settings; what is at its default is left out."""
        default = Settings()
        return {
            each.variable: each.text(getattr(self, each.name))
            for each in OPTIONS
            if getattr(self, each.name) != getattr(default, each.name)
        }

    def child_env(self, environ: Mapping[str, str]) -> dict[str, str]:
        """An environment for a child process: this one's, with exactly these settings."""
        kept = {name: value for name, value in environ.items() if name not in _VARIABLES}
        return {**kept, **self.to_env()}

    def __repr__(self) -> str:
        """As a struct's, with the token and the store's password left out."""
        shown = msgspec.structs.replace(
            self,
            token=None if self.token is None else "***",
            store=None if self.store is None else option.without_password(self.store),
        )
        return f"Settings({msgspec.json.encode(shown).decode()})"


OPTIONS: tuple[Option, ...] = (
    Option(
        "store",
        option.store,
        "`memory`, or the URL of a server: `redis://`, `rediss://`, `unix://`",
        "bundled",
    ),
    Option("data", option.folder, "folder of the bundled server's data", "the user's data folder"),
    Option("prefix", option.prefix, "what every key starts with, to share one server", "default"),
    Option("judge", option.reference("rule"), "`rule`, or a judge of yours as `module:name`", "rule"),
    Option("kinds", option.kinds, "event name to kind, as JSON or a file of it; names may be globs", "none"),
    Option("default_kind", option.kind, "kind of the names that `--kinds` does not list", "consequence"),
    Option("host", option.word, "address to listen on; any but loopback needs a token", "127.0.0.1"),
    Option("port", option.integer(0, 65_535), "port to listen on; 0 picks a free one", "8787"),
    Option("socket", option.socket, "path of a unix socket to listen on, instead of host and port", "none"),
    Option("token", option.token, "require `Authorization: Bearer <token>`", "none", secret=True),
    Option("allow_hosts", option.hosts, "a name a proxy is reached by, beside host; may be repeated", "none"),
    Option("act_threshold", option.share, "act when p(interrupt) + p(ask) reaches it", "off"),
    Option("settle", option.settle, "`key=value` of the settle table; may be repeated", "none", merges=True),
    Option("sink", option.reference("log"), "`log`, or a sink of yours as `module:name`", "none"),
    Option("dead_letter", option.reference("log"), "`log`, or a handler of yours as `module:name`", "kept"),
    Option("workers", option.integer(0), "worker processes of `attend serve`", "1"),
    Option("concurrency", option.integer(1), "runs each lane of a worker has in hand at once", "32"),
    Option("retain_rows", option.integer(1), "decisions the log keeps", "100000"),
    Option("retain_ms", option.integer(1), "how long the log keeps a decision", "30 days"),
    Option("forget_ms", option.integer(1), "how long an idle scope is remembered", "30 days"),
    Option("max_body", option.size, "largest request body; also what gzip may expand to", "32MiB"),
    Option("max_line", option.size, "longest line of a body", "1MiB"),
    Option("body_deadline_ms", option.integer(1), "how long a body may take to arrive", "30000"),
    Option("max_in_flight_bytes", option.size, "bytes being ingested at once, per API process", "64MiB"),
    Option(
        "max_in_flight_requests",
        option.integer(1),
        "requests being ingested at once, per API process",
        "1000",
    ),
    Option("heartbeat_ms", option.integer(1), "between heartbeats on a stream", "15000"),
    Option("poll_ms", option.integer(1), "`nextPollMs` of a poll's answer", "1000"),
    Option("shutdown_grace_ms", option.integer(0), "how long a shutdown waits for work in hand", "5000"),
)
"""Every setting, in the order they are shown."""

_VARIABLES = frozenset(each.variable for each in OPTIONS)


def _together(settings: Settings, places: Mapping[str, str]) -> list[str]:
    """What is wrong with settings that are each right by themselves."""
    found: list[str] = []
    if "socket" in places:
        found += [
            f"{places['socket']} and {places[name]}: a socket takes the place of host and port; give one of them"
            for name in ("host", "port")
            if name in places
        ]
    elif not _is_loopback(settings.host) and "token" not in places:
        found.append(
            f"{places['host']}: {settings.host} can be reached from other machines, and there is no token; "
            "give --token (ATTEND_TOKEN), or listen on 127.0.0.1"
        )
    if settings.data is not None and settings.store is not None:
        found.append(
            f"{places['data']} and {places['store']}: a data folder is for the bundled server, which keeps nothing "
            "with `memory` and is not started with a URL; give one of them"
        )
    if settings.max_line > settings.max_body:
        place = places.get("max_line") or places["max_body"]
        found.append(
            f"{place}: a line ({settings.max_line} bytes) cannot be longer than a body "
            f"({settings.max_body} bytes); raise --max-body or lower --max-line"
        )
    for problem in settings.rules.problems():
        name = "act_threshold" if problem.startswith("act_threshold") else "settle"
        found.append(f"{places[name]}: {problem}")
    return found


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def misspelt(environ: Mapping[str, str]) -> list[str]:
    """A line for each `ATTEND_` variable that is no setting but looks like one with a slip in it."""
    return [
        f"{name}: there is no such setting; did you mean {close}?"
        for name in environ
        if name.startswith("ATTEND_")
        and name not in _VARIABLES
        and (close := option.nearest(name, _VARIABLES))
    ]
