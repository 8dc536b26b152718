"""Everything that flags, `ATTEND_` variables and a configuration file say, read and checked as one value.

Each setting has a flag and a variable of the same name (`--max-body`, `ATTEND_MAX_BODY`); a flag beats a variable, a
variable the file. All that is wrong is reported at once, each problem with its place and what would be right.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from attend import option
from attend.config_file import File, Given, read_file
from attend.core.rules import OnJudgeDown, Rules
from attend.core.subscription import WebhookRules
from attend.errors import ConfigError
from attend.option import HOSTED, Option, is_loopback
from attend.options import OPTIONS
from attend.retention import Retention
from attend.signal_table import made
from attend.source_setting import SourceSetting

MIB = 1024 * 1024
DAY_MS = 86_400_000


class Settings(Struct, frozen=True, kw_only=True):
    """What one deployment is told. Times are milliseconds, sizes bytes.

    `store` is None for the bundled server, "memory" for the same without persistence, or the URL of a server.
    `judge` is "rule", one of `option.HOSTED`, "module:name", or several of these with commas between; what begins
    with `judge_` is for the hosted one, where no model, URL or key is the provider's own. `sink` is None, "log", the
    URL of a webhook, which `sink_secret` is for, or "module:name"; `dead_letter` is None, "log" or "module:name".
    `kinds` is in the order given; `signals` is the table of news by event, as `signal_table` reads it. `rules` holds
    what `settle`, `signals`, `act_threshold`, `sink` and `dead_letter` add up to.
    `principals` is the path of a file, which may be the configuration itself. `ack_after_ms` is None where an
    interrupt that nobody took does not come up again. `concurrency` is how many runs each lane of a worker has in hand at once.
    """

    store: str | None = None
    data: str | None = None
    prefix: str = "default"
    judge: str = "rule"
    judge_model: str | None = None
    judge_url: str | None = None
    judge_key: str | None = None
    judge_context_tokens: int | None = None
    judge_below: float = 0.6
    criteria: dict[str, str] = {}
    guidance: str | None = None
    predicates: dict[str, str] = {}
    on_judge_down: str = OnJudgeDown.DEAD_LETTER
    kinds: dict[str, str] = {}
    signals: dict[str, dict[str, Any]] = {}
    default_kind: str = "consequence"
    host: str = "127.0.0.1"
    port: int = 8787
    socket: str | None = None
    token: str | None = None
    principals: str | None = None
    allow_hosts: tuple[str, ...] = ()
    act_threshold: float | None = None
    window_share: float = 0.5
    settle: dict[str, Any] = {}
    sink: str | None = None
    sink_secret: str | None = None
    sources: tuple[SourceSetting, ...] = ()
    dead_letter: str | None = None
    workers: int = 1
    concurrency: int = 32
    retain: Retention = Retention()
    forget_ms: int = 30 * DAY_MS
    audit_rows: int = 100_000
    ack_after_ms: int | None = None
    ack_times: int = 3
    max_body: int = 32 * MIB
    max_line: int = MIB
    body_deadline_ms: int = 30_000
    max_in_flight_bytes: int = 64 * MIB
    max_in_flight_requests: int = 1000
    rate: int | None = None
    stream_credits: int = 1000
    stream_idle_ms: int = 600_000
    max_listeners: int = 256
    max_listeners_per_token: int = 3
    heartbeat_ms: int = 15_000
    poll_ms: int = 1000
    mcp_errors: str = "sep-3415"
    webhooks: str = "on"
    webhook_retry_ms: tuple[str, ...] = ("10000", "60000", "180000", "480000")
    webhook_timeout_ms: int = 5000
    max_subscriptions: int = 100
    shutdown_grace_ms: int = 5000

    @property
    def webhook_rules(self) -> WebhookRules:
        """How webhooks of MCP are delivered."""
        return WebhookRules(
            offered=self.webhooks != "off",
            local=self.webhooks == "local",
            retry_ms=tuple(map(int, self.webhook_retry_ms)),
            timeout_ms=self.webhook_timeout_ms,
            each=self.max_subscriptions,
        )

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
            on_judge_down=OnJudgeDown(self.on_judge_down),
            signals=made(self.signals),
        )

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Sequence[str]],
        environ: Mapping[str, str],
        names: Collection[str] | None = None,
    ) -> Settings:
        """From flags, by setting name with every value given, variables, and the file that `config` among them names.

        Settle keys win one by one. With `names`, the flags and variables of other settings are left alone; the file
        is checked whole. Raises `ConfigError` with every problem.
        """
        path = flags["config"][-1] if flags.get("config") else environ.get(CONFIG)
        file = read_file(path) if path else File()
        problems = list(file.problems)
        values: dict[str, Any] = {}
        places: dict[str, str] = {}
        for each in OPTIONS:
            wanted = names is None or each.name in names
            said = _said(each, flags, environ) if wanted else []
            filed = file.given.get(each.name)
            if filed is not None:
                said.append(filed)
            for place, given in enumerate(said):
                used = wanted and (place == 0 or each.merges)
                # The file is checked whole, also where something wins over it or another command reads it.
                if not used and given is not filed:
                    continue
                try:
                    value = each.parse(given.texts)
                except ValueError as error:
                    problems.extend(f"{given.place}: {line}" for line in str(error).splitlines())
                    value = None
                if used:
                    places.setdefault(each.name, given.place)
                if used and value is not None:
                    values[each.name] = {**value, **values.get(each.name, {})} if each.merges else value
        settings = cls(**values)
        problems += _together(settings, places)
        if "judge" in values or "judge" not in places:
            problems += _judge(settings, places)
        if problems:
            raise ConfigError(*problems)
        return settings

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """From `ATTEND_` variables, and the file that one of them names. Raises `ConfigError` with every problem."""
        return cls.read({}, environ)

    @classmethod
    def from_file(cls, path: str) -> Settings:
        """From a configuration file alone. Raises `ConfigError` with every problem."""
        return cls.read({"config": [path]}, {})

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
        """As a struct's, with every secret and the store's password left out."""
        hidden: dict[str, Any] = {
            each.name: "***" for each in OPTIONS if each.secret and getattr(self, each.name) not in (None, ())
        }
        if self.store is not None:
            hidden["store"] = option.without_password(self.store)
        if self.sink is not None:
            hidden["sink"] = option.without_password(self.sink)
        shown = msgspec.structs.replace(self, **hidden)
        return f"Settings({msgspec.json.encode(shown).decode()})"


CONFIG = "ATTEND_CONFIG"
"""The variable of `--config`: the file that stands behind flags and variables."""

_VARIABLES = frozenset({CONFIG, *(each.variable for each in OPTIONS)})


def _said(each: Option, flags: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> list[Given]:
    """What a flag and a variable give, the one that wins first."""
    found: list[Given] = []
    if flags.get(each.name):
        found.append(Given(each.flag, tuple(flags[each.name])))
    variable = environ.get(each.variable)
    if variable or (variable is not None and each.strict):
        found.append(Given(each.variable, (variable,)))
    return found


def _together(settings: Settings, places: Mapping[str, str]) -> list[str]:
    """What is wrong with settings that are each right by themselves."""
    found: list[str] = []
    if "socket" in places:
        found += [
            f"{places['socket']} and {places[name]}: a socket takes the place of host and port; give one of them"
            for name in ("host", "port")
            if name in places
        ]
    elif not is_loopback(settings.host) and not {"token", "principals"} & places.keys():
        found.append(
            f"{places['host']}: {settings.host} can be reached from other machines, and there is no token; "
            "give --token (ATTEND_TOKEN) or --principals, or listen on 127.0.0.1"
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
    if places.get("sink_secret", "").startswith("--") and not option.is_url(settings.sink or ""):
        found.append(f"{places['sink_secret']}: it signs a webhook; give --sink the URL of one")
    for problem in settings.rules.problems():
        name = "act_threshold" if problem.startswith("act_threshold") else "settle"
        found.append(f"{places[name]}: {problem}")
    return found


def _judge(settings: Settings, places: Mapping[str, str]) -> list[str]:
    """What is wrong between a judge and what is given for it.

    A file or a variable may say more than the judge takes, so that a flag can try another one.
    """
    names = settings.judge.split(",")
    hosted = [name for name in names if name in HOSTED]
    found = [
        f"{places['judge']}: {name} needs a model: give --judge-model (ATTEND_JUDGE_MODEL)"
        for name in hosted
        if name != "jev" and "judge_model" not in places
    ]
    if not hosted:
        found += [
            f"{places[name]}: the judge {settings.judge} takes none; it is for {', '.join(HOSTED)}"
            for name in ("judge_model", "judge_url", "judge_key", "judge_context_tokens", "criteria")
            if places.get(name, "").startswith("--")
        ]
    if len(names) == 1 and places.get("judge_below", "").startswith("--"):
        found.append(
            f"{places['judge_below']}: it is for several judges with commas between, as --judge rule,jev"
        )
    return found


def misspelt(environ: Mapping[str, str], also: Collection[str] = ()) -> list[str]:
    """A line for each `ATTEND_` variable that is no setting, nor in `also`, but looks like one with a slip in it."""
    known = _VARIABLES.union(also)
    return [
        f"{name}: there is no such setting; did you mean {close}?"
        for name in environ
        if name.startswith("ATTEND_") and name not in known and (close := option.nearest(name, known))
    ]
