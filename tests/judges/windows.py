"""Windows and inputs for judges."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from attend.core.types import Event, Kind, Reason, Recent, Route, Window
from attend.judges.base import JudgeInput

NOW = 1_760_000_060_000
ROUTES = tuple(Route)


def event(
    id: str = "e1",
    name: str = "build.failed",
    kind: Kind = Kind.CLOSING,
    *,
    text: str | None = None,
    data: Any = None,
    data_json: bytes | None = None,
) -> Event:
    """An event that came half a minute before its window settled."""
    raw = data_json if data_json is not None else b"{}" if data is None else msgspec.json.encode(data)
    return Event(id, name, kind, 1, raw, text, NOW - 30_000)


def window(*events: Event, reason: Reason = Reason.CLOSING, **more: Any) -> Window:
    """A settled window."""
    return Window("repo:acme/shop", events or (event(text="1 test failed"),), reason, NOW, **more)


def asked(of: Window | None = None, **more: Any) -> JudgeInput:
    """What a judge is asked about a window; everything is on offer unless `routes` says otherwise."""
    of = of or window()
    fields: dict[str, Any] = {"scope": of.scope, "window": of, "routes": ROUTES, **more}
    return JudgeInput(**fields)


def crowd(count: int, *, size: int = 200, acts: int = 1) -> Window:
    """A window of many consequences, with acts spread among them and one at the end."""
    every = max(1, count // acts)
    events = [
        event(f"n{at}", "log.line", Kind.CONSEQUENCE, text=f"line {at} " + "x" * size)
        if at % every
        else event(f"a{at}", "user.said", Kind.FLUSH, text=f"act {at}")
        for at in range(count)
    ]
    return window(*events, event("last", "user.said", Kind.FLUSH, text="the last act"), reason=Reason.FLUSH)


RECENT = (Recent(NOW - 5000, Route.NOTE, Reason.CLOSING, 3, "w1"),)


def acts_in(body: Any) -> list[str]:
    """The texts of the acts in the state of a request."""
    return [each["text"] for each in body["state"]["window"]["events"] if each["kind"] == "flush"]


def events_bytes(body: Any) -> int:
    """What the events in the state of a request come to."""
    return sum(len(json.dumps(each, separators=(",", ":"))) + 1 for each in body["state"]["window"]["events"])
