"""What a judge is: an async function from a settled window to a verdict."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from attend.core.types import Judgment, Recent, Route, Window


class JudgeImage(Struct, frozen=True):
    """A picture for the judge, such as a screenshot: `data` in base64, and its MIME type."""

    data: str
    mime_type: str


class JudgeInput(Struct, frozen=True, kw_only=True):
    """What a judge is asked about one window.

    `routes` are those on offer. `guidance` is the deployment's own words on what matters, `predicates` its yes-or-no
    questions by name, `facts` what `context()` said just now, `images` what `capture()` gave. `recent` are the
    scope's last verdicts, oldest first. `starts` counts this call among the tries for this window.
    """

    scope: str
    window: Window
    routes: tuple[Route, ...]
    guidance: str | None = None
    predicates: dict[str, str] = {}
    facts: Any = None
    images: tuple[JudgeImage, ...] = ()
    recent: tuple[Recent, ...] = ()
    starts: int = 1


class Judge(Protocol):
    """Picks one of the routes on offer.

    It may be called again for the same window: after it raised, and after its process died. What it raises is a
    failure and is retried with backoff, as are a route that was not offered and a call over its time; raise
    `PermanentError` where trying again cannot help. An error's `retry_after_ms`, where it has one, is the least
    wait before the next try. A judge that has a `context_tokens` attribute bounds the windows it is given by it, one
    that has an `aclose` method is closed with it.
    """

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The verdict. Cancelled when its time is over."""
        ...
