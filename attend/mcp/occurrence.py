"""What servers send about events, read strictly enough to be trusted and no stricter."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Occurrence(Struct, rename="camel"):
    """One event of another server's. `cursor` is where to go on after it, where it says."""

    event_id: str
    name: str
    data: dict[str, Any]
    timestamp: str | None = None
    cursor: str | None = None

    def event(self) -> dict[str, Any]:
        """The event as attend takes it. An instant that cannot be read is left out: it is shown, never trusted."""
        found = {"id": self.event_id, "name": self.name, "data": self.data}
        at = None if self.timestamp is None else _milliseconds(self.timestamp)
        return found if at is None else {**found, "at": at}


class Page(Struct, rename="camel"):
    """The answer of a poll."""

    events: list[dict[str, Any]] = []
    cursor: str | None = None
    truncated: bool = False
    has_more: bool = False
    next_poll_ms: float | None = None


class EventType(Struct, rename="camel"):
    """A line of `events/list`."""

    name: str
    delivery: list[str] = []


class Types(Struct, rename="camel"):
    """The answer of `events/list`, or one page of it."""

    events: list[EventType]
    next_cursor: str | None = None


def occurrence_of(params: Mapping[str, Any]) -> Occurrence:
    """Raises `ValueError` saying what is wrong."""
    return _read(params, Occurrence)


def page_of(result: Mapping[str, Any]) -> Page:
    """Raises `ValueError` saying what is wrong."""
    return _read(result, Page)


def types_of(result: Mapping[str, Any]) -> Types:
    """Raises `ValueError` saying what is wrong."""
    return _read(result, Types)


def _read(value: Mapping[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _milliseconds(timestamp: str) -> int | None:
    try:
        found = datetime.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    at = round(found.timestamp() * 1000)
    return at if at >= 0 else None
