"""What an agent is told of a decision. The judge never writes text: it all comes from the events."""

from __future__ import annotations

from attend.core.types import Decision, Kind, Route, Window

CLOSING_LINES = {
    Route.INTERRUPT: "Attend to this now, even mid-task.",
    Route.QUEUE: "Take this up when the current turn ends.",
    Route.NOTE: "Background only. No reply is needed.",
    Route.ASK: "Stay quiet. The user is being asked whether to call you in.",
}
"""The last line of a notice, by route."""


def default_notice(decision: Decision) -> str:
    """The notice of a decision: see `notice_of`."""
    return notice_of(decision.window, decision.route)


def notice_of(window: Window, route: Route) -> str:
    """One line an event (its text, or its name and data), what is missing, and what to do about it.

    `context` events are left out: they are the agent's own output.
    """
    lines = [
        event.text if event.text is not None else _name_and_data(event.name, event.data_json)
        for event in window.events
        if event.kind is not Kind.CONTEXT
    ]
    if window.gap:
        lines.append("Some events were lost on their way here.")
    if window.dropped:
        were = "event was" if window.dropped == 1 else "events were"
        lines.append(f"{window.dropped} earlier {were} left out.")
    lines.append(CLOSING_LINES[route])
    return "\n".join(lines)


def _name_and_data(name: str, data_json: bytes) -> str:
    return name if data_json == b"{}" else f"{name} {data_json.decode()}"
