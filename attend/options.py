"""The one list of settings: the command line, variables, configuration files and the table in the documents follow it."""

from __future__ import annotations

from typing import Any

from attend import option, principal, signal_table, source_setting, table
from attend.core.rules import LEAST, OnJudgeDown
from attend.core.types import Kind, Route
from attend.option import Option
from attend.retention import retention
from attend.signature import secrets

_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
_SHARE: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}

_SETTLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"type": "array", "items": {"type": "integer", "minimum": 0}}
        if name == "retry_backoff_ms"
        else {"type": "integer", "minimum": LEAST[name]}
        for name in table.SETTLE
    },
    "additionalProperties": False,
}


def _whole(
    name: str,
    help: str,
    default: str,
    least: int,
    most: int | None = None,
    *,
    table: str = "serve",
    key: str | None = None,
) -> Option:
    schema: dict[str, Any] = {"type": "integer", "minimum": least}
    if most is not None:
        schema["maximum"] = most
    return Option(name, option.integer(least, most), help, default, schema=schema, table=table, own_key=key)


def _size(name: str, help: str, default: str) -> Option:
    schema = {"type": ["integer", "string"], "minimum": 1, "pattern": "^[0-9]+ ?([KkMmGg][Ii][Bb])?$"}
    return Option(name, option.size, help, default, schema=schema)


OPTIONS: tuple[Option, ...] = (
    Option(
        "store",
        option.store,
        "`memory`, or the URL of a server: `redis://`, `rediss://`, `unix://`",
        "bundled",
    ),
    Option("data", option.folder, "folder of the bundled server's data", "the user's data folder"),
    Option("prefix", option.prefix, "what every key starts with, to share one server", "default"),
    Option(
        "judge",
        option.judge,
        "`rule`, `jev`, `decisions`, `llm`, or a judge of yours as `module:name`; several with commas between are "
        "asked in turn until one is sure",
        "rule",
        table="judge",
        own_key="name",
    ),
    Option(
        "judge_model",
        option.word,
        "the model to ask; `decisions` and `llm` need one",
        "jev-latest",
        table="judge",
        own_key="model",
    ),
    Option(
        "judge_url",
        option.endpoint,
        "the whole address to ask, such as a server of yours",
        "the provider's",
        table="judge",
        own_key="url",
    ),
    Option(
        "judge_key",
        option.token,
        "the key for it, better given as the variable",
        "`TYPESAFE_API_KEY` or `OPENAI_API_KEY`",
        secret=True,
        table="judge",
        own_key="key",
    ),
    _whole(
        "judge_context_tokens",
        "how many tokens the model reads; it bounds windows",
        "32000 for jev",
        1,
        table="judge",
        key="context_tokens",
    ),
    Option(
        "judge_below",
        option.share,
        "with several judges: the next is asked when one is less sure than this",
        "0.6",
        schema=_SHARE,
        table="judge",
        own_key="below",
    ),
    Option(
        "criteria",
        table.criteria,
        "route to when it is right, as JSON or a file of it, in place of the words attend has",
        "attend's",
        schema={**_TEXTS, "propertyNames": {"enum": list(Route)}},
        table="judge",
    ),
    Option("guidance", option.word, "what matters here, in your words, for the judge", "none", table="judge"),
    Option(
        "predicates",
        table.predicates,
        "name to a yes-or-no question for the judge, as JSON or a file of it",
        "none",
        schema=_TEXTS,
        table="judge",
    ),
    Option(
        "on_judge_down",
        option.choice(*OnJudgeDown),
        "what becomes of a window whose judge stays down: `dead-letter`, or decided by `rule` and marked degraded",
        "dead-letter",
        schema={"enum": list(OnJudgeDown)},
    ),
    Option(
        "kinds",
        table.kinds,
        "event name to kind, as JSON or a file of it; names may be globs",
        "none",
        schema={"type": "object", "additionalProperties": {"enum": list(Kind)}},
        table="kinds",
        own_key="",
    ),
    Option(
        "signals",
        signal_table.signals,
        "event name to what news it is, as JSON or a file of it, beside those that are by default",
        "none",
        schema=signal_table.SCHEMA,
        table="signals",
        own_key="",
    ),
    Option(
        "default_kind",
        option.kind,
        "kind of the names that `--kinds` does not list",
        "consequence",
        schema={"enum": list(Kind)},
    ),
    Option(
        "host", option.word, "address to listen on; any but loopback needs a token or principals", "127.0.0.1"
    ),
    _whole("port", "port to listen on; 0 picks a free one", "8787", 0, 65_535),
    Option("socket", option.socket, "path of a unix socket to listen on, instead of host and port", "none"),
    Option(
        "token", option.token, "require `Authorization: Bearer <token>`", "none", secret=True, strict=True
    ),
    Option(
        "principals",
        principal.file,
        "file of tokens' hashes with the rights and scopes of each; read again when it changes",
        "none",
    ),
    Option(
        "allow_hosts",
        option.hosts,
        "a name a proxy is reached by, beside host; may be repeated",
        "none",
        schema={"type": "array", "items": {"type": "string"}},
    ),
    Option("act_threshold", option.share, "act when p(interrupt) + p(ask) reaches it", "off", schema=_SHARE),
    Option(
        "window_share",
        option.share,
        "share of the judge's context that a window may fill before it settles",
        "0.5",
        schema=_SHARE,
    ),
    Option(
        "settle",
        table.settle,
        "`key=value` of the settle table; may be repeated",
        "none",
        merges=True,
        schema=_SETTLE,
        table="settle",
        own_key="",
    ),
    Option(
        "sink",
        option.sink,
        "`log`, the URL of a webhook, or a sink of yours as `module:name`",
        "none",
    ),
    Option(
        "sink_secret",
        secrets,
        "`whsec_...` to sign a webhook with, better given as the variable; two with a blank between while one is "
        "replaced",
        "unsigned",
        secret=True,
    ),
    Option(
        "sources",
        source_setting.sources,
        "another server's events to read, as JSON with `url` or `command`, `event`, `scope`; may be repeated",
        "none",
        secret=True,
        schema=source_setting.SCHEMA,
        table="source",
        own_key="",
    ),
    Option("dead_letter", option.reference("log"), "`log`, or a handler of yours as `module:name`", "kept"),
    _whole("workers", "worker processes of `attend serve`", "1", 0),
    _whole("concurrency", "runs each lane of a worker has in hand at once", "32", 1),
    Option(
        "retain",
        retention,
        "decisions the log keeps: how many, how old (`12h`, `30d`), or both with a comma between",
        "100000,30d",
        schema={"type": ["integer", "string"], "minimum": 1},
    ),
    _whole("forget_ms", "how long an idle scope is remembered", "30 days", 1),
    _whole("audit_rows", "rows kept of who did what", "100000", 1),
    _whole(
        "ack_after_ms",
        "how long until an interrupt that nobody took comes up again; 300000 is a start",
        "off",
        1,
    ),
    _whole("ack_times", "how often it comes up again", "3", 1),
    _size("max_body", "largest request body; also what gzip may expand to", "32MiB"),
    _size("max_line", "longest line of a body", "1MiB"),
    _whole("body_deadline_ms", "how long a body may take to arrive", "30000", 1),
    _size("max_in_flight_bytes", "bytes being ingested at once, per API process", "64MiB"),
    _whole("max_in_flight_requests", "requests being ingested at once, per API process", "1000", 1),
    _whole("rate", "lines a second that one principal may send, per API process", "no limit", 1),
    _whole("stream_credits", "lines of an ingest stream that may wait for their acknowledgement", "1000", 1),
    _whole("stream_idle_ms", "how long an ingest stream stays open without a line", "600000", 1),
    _whole("max_listeners", "open subscriptions to the attention feed, per API process", "256", 1),
    _whole("max_listeners_per_token", "how many of them one token may hold", "3", 1),
    _whole("heartbeat_ms", "between heartbeats on a stream", "15000", 1),
    _whole("poll_ms", "`nextPollMs` of a poll's answer", "1000", 1),
    Option(
        "mcp_errors",
        option.choice("sep-3415", "openai"),
        "numbers of MCP Events' errors: `sep-3415`, or `openai` for clients that still expect the draft's",
        "sep-3415",
        schema={"enum": ["sep-3415", "openai"]},
    ),
    Option(
        "webhooks",
        option.choice("on", "off", "local"),
        "whether MCP webhooks are offered; `local` also posts to this machine, which is for tests alone",
        "on",
        schema={"enum": ["on", "off", "local"]},
    ),
    Option(
        "webhook_retry_ms",
        table.waits,
        "waits after each failed try of a webhook, with commas between; then the event is given up",
        "10000,60000,180000,480000",
    ),
    _whole("webhook_timeout_ms", "how long one try of a webhook may take", "5000", 1),
    _whole("max_subscriptions", "webhook subscriptions that one principal may have", "100", 1),
    _whole("shutdown_grace_ms", "how long a shutdown waits for work in hand", "5000", 0),
)
"""Every setting, in the order they are shown."""
