"""How a window is shown to a judge: one JSON object, for every judge the same.

What a stranger wrote stands inside JSON strings, or is a JSON value of its own, and nowhere else. Angle brackets and
characters that show as nothing or reorder text are escaped, so that it can close no tag that a prompt puts around
the object and look like nothing that it is not; a JSON reader gets every text back exactly.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from attend.core.types import Event
from attend.judges.base import JudgeInput
from attend.judges.budget import shed
from attend.judges.image import Picture

MAX_DATA_NESTING = 48
"""How deep `data` may nest and still be shown as JSON: System One takes 64 levels, the object's own among them."""

# Angle brackets; control characters from DEL on; zero-width, bidirectional and tag characters; line separators.
_HIDDEN = re.compile(
    "[<>\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Shown(Struct, frozen=True):
    """An event as it is shown: its JSON, and whether it stays whatever the window's size."""

    json: str
    size: int
    is_act: bool


class View(Struct, frozen=True):
    """What a judge is shown of its input: the events that fit, how many did not, and the pictures."""

    input: JudgeInput
    events: tuple[Shown, ...]
    omitted: int = 0
    pictures: tuple[Picture, ...] = ()

    @property
    def state(self) -> str:
        """The JSON object."""
        return _state(self)

    @property
    def picture_tokens(self) -> int:
        """What the pictures are reckoned at."""
        return sum(each.tokens for each in self.pictures)

    def bare(self) -> View:
        """Without events and pictures: what the rest of a request takes."""
        return replace(self, events=(), pictures=())

    def without_pictures(self) -> View:
        """With every picture left out."""
        return replace(self, pictures=())

    def within(self, room: int) -> View:
        """With non-acts left out, oldest first, until the events have at most `room` bytes."""
        events = shed(self.events, room)
        return replace(self, events=events, omitted=self.omitted + len(self.events) - len(events))

    def halved(self) -> View | None:
        """With the events at half their bytes or as near as the acts let them; None where nothing can go."""
        smaller = self.within(sum(event.size for event in self.events) // 2)
        return None if len(smaller.events) == len(self.events) else smaller


def view(input: JudgeInput, pictures: tuple[Picture, ...] = ()) -> View:
    """Everything that a judge could be shown of its input."""
    window = input.window
    return View(input, tuple(_shown(event, window.settled_at) for event in window.events), 0, pictures)


def quoted(value: object) -> str:
    """Any value as JSON text, with everything hidden in it escaped. What JSON cannot hold is shown as its `str`."""
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        # Half a surrogate pair, a key that is no string, a circle: shown as what Python says of it.
        text = msgspec.json.encode(str(value).encode(errors="replace").decode()).decode()
    return _HIDDEN.sub(_escape, text)


def _shown(event: Event, now: int) -> Shown:
    parts = [f'"name":{quoted(event.name)}', f'"kind":"{event.kind.value}"']
    if event.accepted_at:
        parts.append(f'"secondsAgo":{max(0, now - event.accepted_at) / 1000:.1f}')
    if event.text is not None:
        parts.append(f'"text":{quoted(event.text)}')
    if event.data_json != b"{}":
        parts.append(f'"data":{_data(event.data_json)}')
    json = "{" + ",".join(parts) + "}"
    return Shown(json, len(json.encode()) + 1, event.kind.is_act)


def _data(data_json: bytes) -> str:
    """The data with its digits as they came; what is no JSON, or nests too deep, as a string of its text."""
    text = data_json.decode(errors="replace")
    try:
        msgspec.json.decode(data_json)
    except (ValueError, RecursionError):
        return quoted(text)
    return quoted(text) if _nests_deeper(text, MAX_DATA_NESTING) else _HIDDEN.sub(_escape, text)


def _nests_deeper(text: str, most: int) -> bool:
    if text.count("[") + text.count("{") <= most:
        return False
    depth = deepest = 0
    for char in _STRING.sub("", text):
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest > most


def _state(view: View) -> str:
    input, window = view.input, view.input.window
    parts: list[str] = []
    if view.pictures:
        parts.append(f'"images":{quoted([each.ref for each in view.pictures])}')
    if input.guidance is not None:
        parts.append(f'"guidance":{quoted(input.guidance)}')
    if input.facts is not None:
        parts.append(f'"facts":{quoted(input.facts)}')
    recent = [
        {
            "route": each.route.value,
            "reason": each.reason.value,
            "events": each.events,
            "secondsAgo": max(0, window.settled_at - each.at) / 1000,
        }
        for each in input.recent
    ]
    parts.append(f'"recent":{quoted(recent)}')
    about = [f'"scope":{quoted(input.scope)}', f'"reason":"{window.reason.value}"']
    omitted = window.dropped + view.omitted
    if omitted:
        about.append(f'"earlierEventsLeftOut":{omitted}')
    if window.gap:
        about.append('"someEventsWereLost":true')
    if window.waits:
        about.append(f'"timesHeldBefore":{window.waits}')
    events = ",".join(event.json for event in view.events)
    parts.append(f'"window":{{{",".join(about)},"events":[{events}]}}')
    return "{" + ",".join(parts) + "}"


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
