"""The events that are news where nobody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attend.core.news import Alert, NewsCode, Signal

_RUN_CODES = (
    *("cancelled", "timed_out", "rate_limited", "limit_reached", "out_of_memory", "invalid_input"),
    *("invalid_output", "unauthorized", "forbidden", "not_found", "connector_rejected"),
    *("connector_unavailable", "gate_stopped", "code_error", "internal"),
)
_GATE_CODES = ("blocked", "needs_approval", "not_allowed", "unknown_host", "over_limit")
_CONNECTION_CODES = ("expired", "revoked", "unreachable", "misconfigured", "pending")
_ALLOWANCE_CODES = ("soft", "hard", "warning", "reached")


def _alert(alert: Alert, **fields: Any) -> Signal:
    return Signal(news=NewsCode.ALERT, alert=alert, name="name", **fields)


DEFAULT_SIGNALS: Mapping[str, Signal] = {
    "run.finished": Signal(news=NewsCode.RUN_FINISHED, subject="run", name="app", started_by="startedBy"),
    "run.failed": Signal(news=NewsCode.RUN_FAILED, subject="run", name="app", code="error", codes=_RUN_CODES),
    "approval.requested": Signal(
        news=NewsCode.APPROVAL_NEEDED, subject="approval", name="app", people="for", opens="approval"
    ),
    "approval.resolved": Signal(
        news=NewsCode.APPROVAL_NEEDED, subject="approval", name="app", people="for", resolves="approval"
    ),
    "app.failing": _alert(Alert.APP_FAILING, subject="app", opens="app"),
    "app.recovered": _alert(Alert.APP_FAILING, subject="app", resolves="app"),
    "automation.failing": _alert(Alert.AUTOMATION_FAILING, subject="automation", opens="automation"),
    "automation.recovered": _alert(Alert.AUTOMATION_FAILING, subject="automation", resolves="automation"),
    "connection.down": _alert(
        Alert.CONNECTION_DOWN,
        subject="connection",
        code="status",
        codes=_CONNECTION_CODES,
        opens="connection",
    ),
    "connection.up": _alert(Alert.CONNECTION_DOWN, subject="connection", resolves="connection"),
    "call.stopped": _alert(Alert.CALL_STOPPED, subject="call", code="gate", codes=_GATE_CODES),
    "allowance.used": _alert(
        Alert.ALLOWANCE,
        subject="allowance",
        code="level",
        codes=_ALLOWANCE_CODES,
        opens="allowance",
        share="percent",
    ),
}
"""What attend takes for news where nobody says otherwise, by the name of the event."""


def signal_of(name: str, own: Mapping[str, Signal | None]) -> Signal | None:
    """What events of a name mean: by somebody's own table, which None takes a name out of, or by default."""
    return own[name] if name in own else DEFAULT_SIGNALS.get(name)
