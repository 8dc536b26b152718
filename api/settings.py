"""What the API is told."""

from __future__ import annotations

from msgspec import Struct

MIB = 1024 * 1024


class ApiSettings(Struct, frozen=True, kw_only=True):
    """Times are milliseconds, sizes bytes.

    `token` is what every request to ingest and MCP must carry, None for none; `principals` is a file of others,
    which is read again when it changes. `audit_rows` is how many rows of who did what are kept. An interrupt that
    nobody took comes up again after `ack_after_ms`, and so `ack_times` times; never with None. `hosts` are the
    names that a Host header may have beside the loopback ones, with or without a port. `rate` is how many lines a
    principal may send in a second, None for as many as it likes. `stream_credits` are the lines of an ingest stream
    that may be under way, `stream_idle_ms` is how long one stays open without a line. `workspace` is what the
    addresses of attention resources call this deployment; `max_listeners` may be subscribed to them at once, and as
    many of one token as `max_listeners_per_token` says. `errors` picks the numbers of MCP errors: `sep-3415`, or
    `openai` for clients that still expect the draft's.
    """

    token: str | None = None
    principals: str | None = None
    audit_rows: int = 100_000
    ack_after_ms: int | None = None
    ack_times: int = 3
    hosts: tuple[str, ...] = ()
    max_body: int = 32 * MIB
    max_line: int = MIB
    body_deadline_ms: int = 30_000
    max_in_flight_bytes: int = 64 * MIB
    max_in_flight_requests: int = 1000
    rate: int | None = None
    stream_credits: int = 1000
    stream_idle_ms: int = 600_000
    workspace: str = "default"
    max_listeners: int = 256
    max_listeners_per_token: int = 3
    heartbeat_ms: int = 15_000
    poll_ms: int = 1000
    shutdown_grace_ms: int = 5000
    errors: str = "sep-3415"
