"""News: what an event means to whoever can only ask. Signals say which events are news, and of what.

Everything in a piece of news that came from an event is an id, a code from a closed list or a name, made plain: no
word of its text and nothing else of its data.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Any, cast

import msgspec
from msgspec import Struct

from attend.core.plain import plain
from attend.core.types import Event

PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
"""What a principal may be called; a name of another form is nobody's."""

MOST_PEOPLE = 64
"""How many people one event can be for."""

MAX_DATA_BYTES = 64 * 1024
"""Data beyond this is not looked into: what is news fits into less."""


class NewsCode(StrEnum):
    """What kind of news it is."""

    RUN_FINISHED = "run_finished"
    RUN_FAILED = "run_failed"
    APPROVAL_NEEDED = "approval_needed"
    ALERT = "alert"


class Alert(StrEnum):
    """What an alert is about."""

    APP_FAILING = "app_failing"
    AUTOMATION_FAILING = "automation_failing"
    CONNECTION_DOWN = "connection_down"
    CALL_STOPPED = "call_stopped"
    ALLOWANCE = "allowance"


class Change(StrEnum):
    """What a piece of news does to a condition."""

    OPENS = "opens"
    RESOLVES = "resolves"


class Signal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What events of one name mean. Fields of `data` are named by their keys, with dots between nested ones.

    `subject` has the id of what it is about, `name` what people call that, `started_by` who started it, and `people`
    who alone it is for: a name or a list of them. `code` has a code that is passed on where it is one of `codes`.
    `opens` and `resolves` name a condition, which is told from others of its name by scope and subject. `share` has
    a number: from `at_least` on the event opens the condition, and below it resolves it. `tool` is what reads more.
    """

    news: NewsCode
    alert: Alert | None = None
    subject: str = "id"
    name: str | None = None
    started_by: str | None = None
    people: str | None = None
    code: str | None = None
    codes: tuple[str, ...] = ()
    opens: str | None = None
    resolves: str | None = None
    share: str | None = None
    at_least: float = 90
    tool: str = "list_attention"


class News(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of news. `scope` and `event` are as they came; what else came from the event is plain.

    `people` are those whom alone it is for, None for all who may see the scope. `condition` is the id of what it
    `change`s. `at` is when the event was accepted.
    """

    code: NewsCode
    scope: str
    event: str
    at: int
    alert: Alert | None = None
    subject: str = ""
    name: str = ""
    detail: str = ""
    share: int | None = None
    people: tuple[str, ...] | None = None
    condition: str = ""
    change: Change | None = None
    tool: str = "list_attention"


def read_news(scope: str, event: Event, signal: Signal, now: int) -> News | None:
    """What an event that was accepted `now` says by its signal; None where that is no news.

    Raises nothing: data of another form says less.
    """
    data: Any = {}
    if len(event.data_json) <= MAX_DATA_BYTES:
        try:
            data = msgspec.json.decode(event.data_json)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            data = {}
    subject = _word(data, signal.subject)
    detail = _word(data, signal.code)
    share = _number(data, signal.share)
    opens, resolves = signal.opens, signal.resolves
    if signal.share is not None:
        if share is None:
            return None
        resolves = None if share >= signal.at_least else resolves or opens
        opens = None if resolves else opens
        if opens is None and resolves is None:
            return None
    name = opens or resolves
    # Without a subject an event is about itself, and nothing else will ever resolve it.
    condition = "" if name is None else condition_id(scope, name, subject or event.id)
    change = None if name is None else Change.OPENS if opens else Change.RESOLVES
    return News(
        code=signal.news,
        scope=scope,
        event=event.id,
        at=now,
        alert=signal.alert,
        subject=plain(subject) if subject else "",
        name=plain(called) if (called := _word(data, signal.name)) else "",
        detail=detail if detail in signal.codes else "",
        share=None if share is None else int(max(0, min(share, 10**6))),
        people=_people(data, signal),
        condition=condition,
        change=change,
        tool=signal.tool,
    )


def condition_id(scope: str, name: str, subject: str) -> str:
    """The id of a condition: a hash, so that nothing of what it is about can be read from it."""
    return hashlib.sha256(msgspec.json.encode([scope, name, subject])).hexdigest()[:24]


def _people(data: Any, signal: Signal) -> tuple[str, ...] | None:
    """Whom alone it is for. News that must name somebody and does not is for nobody."""
    found: tuple[str, ...] | None = None
    for path in (signal.started_by, signal.people):
        if path is not None:
            given = _at(data, path)
            several = cast("list[object]", given) if isinstance(given, list) else [given]
            names = tuple(
                each for each in several[:MOST_PEOPLE] if isinstance(each, str) and PERSON.fullmatch(each)
            )
            found = (found or ()) + names
    if found is None and signal.news in (NewsCode.RUN_FINISHED, NewsCode.APPROVAL_NEEDED):
        return ()
    return found


def _at(data: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(data, dict):
            return None
        data = cast("dict[str, Any]", data).get(key)
    return data


def _word(data: Any, path: str | None) -> str:
    found = None if path is None else _at(data, path)
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        return ""
    return str(found) if isinstance(found, str) or abs(found) < 10**18 else ""


def _number(data: Any, path: str | None) -> float | None:
    found = None if path is None else _at(data, path)
    return None if isinstance(found, bool) or not isinstance(found, (int, float)) else float(found)
