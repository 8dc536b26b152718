"""`attend_push`: an agent adds what it does itself, as context for the windows to come."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from mcp_types import ToolAnnotations
from msgspec import Meta, Struct

from attend.api.auth import Access, Right
from attend.api.offer import Offer, described
from attend.api.rate import Rates
from attend.app import Attend
from attend.core.event import MAX_ID_BYTES, MAX_NAME_BYTES, MAX_SCOPE_BYTES, NewEvent, check_scope
from attend.core.input import Pushed
from attend.core.step import Taken
from attend.core.types import ACTS, Event, Kind
from attend.errors import ConflictError, EventError, StateFormatError, StoreCorruptError

MOST_EVENTS = 100
MOST_BYTES = 64 * 1024
"""How large one event may be: it is what an agent says of itself, no payload."""


class OwnEvent(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Something the agent did or said."""

    name: Annotated[
        str,
        Meta(min_length=1, max_length=MAX_NAME_BYTES, description="What kind of thing, such as agent.said."),
    ]
    id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MAX_ID_BYTES,
                description="An id of your own: with it the same event sent again counts once.",
            ),
        ]
        | None
    ) = None
    text: Annotated[str, Meta(description="It in words, for the judge to read.")] | None = None
    data: Annotated[dict[str, Any], Meta(description="Anything more, as JSON.")] | None = None


class PushArguments(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Of `attend_push`."""

    scope: Annotated[
        str,
        Meta(min_length=1, max_length=MAX_SCOPE_BYTES, description="What it is about: a decision's scope."),
    ]
    events: Annotated[
        tuple[OwnEvent, ...],
        Meta(min_length=1, max_length=MOST_EVENTS, description="In the order they happened."),
    ]


class PushResult(Struct, frozen=True, rename="camel"):
    """Of `attend_push`."""

    accepted: int
    duplicates: Annotated[int, Meta(description="Events that were known by their id already.")]


TOOL = described(
    "attend_push",
    "Tell attend what you did",
    "Add what you yourself said or did to a scope, as context: the judge then sees it beside what happens next, and "
    "does not wake you for what you know. It never wakes anybody by itself, and it is left out of notices. Use it after "
    "you acted on a decision, with that decision's scope; not for what users or systems did, which reaches attend by "
    "itself. Give each event an id, so that calling again after an error counts it once.",
    PushArguments,
    PushResult,
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    ),
)


def push_tool(app: Attend, rates: Rates) -> Offer[PushArguments]:
    """The tool for one app, within each principal's rate."""

    async def run(asked: PushArguments, access: Access) -> PushResult:
        if not access.principal.covers(asked.scope):
            raise ValueError("this token may not send to this scope")
        events = _accepted(app, asked)
        if wait_ms := rates.wait_ms(access.principal):
            raise ValueError(f"you send faster than you may; call again in {wait_ms} ms")
        rates.spend(access.principal, len(events))
        try:
            applied = await app.engine.apply(asked.scope, (Pushed(events),))
        except ConflictError as error:
            raise ValueError("other writers were first, every time; call again in a second") from error
        except (StoreCorruptError, StateFormatError) as error:
            raise ValueError(str(error)) from error
        taken = applied.replies[0]
        assert isinstance(taken, Taken)
        access.note("push", scope=asked.scope, accepted=taken.accepted, duplicates=len(taken.duplicates))
        if taken.full is not None:
            raise ValueError(f"the {taken.full} of this scope is full; call again once it drains")
        return PushResult(taken.accepted, len(taken.duplicates))

    return Offer(TOOL, Right.INGEST, PushArguments, run)


def _accepted(app: Attend, asked: PushArguments) -> tuple[Event, ...]:
    """The events, each as context. Raises `ValueError` for one that is none, before anything is taken."""
    events: list[Event] = []
    try:
        check_scope(asked.scope)
        for place, own in enumerate(asked.events):
            given = {name: value for name, value in msgspec.structs.asdict(own).items() if value is not None}
            event = app.accept(NewEvent.of(given))
            if event.kind in ACTS:
                raise ValueError(
                    f"events[{place}]: {own.name} is {event.kind} here, and only what is context can be pushed; "
                    "use another name, such as agent.said"
                )
            if event.size > MOST_BYTES:
                raise ValueError(f"events[{place}]: it is larger than {MOST_BYTES} bytes; say it shorter")
            events.append(msgspec.structs.replace(event, kind=Kind.CONTEXT))
    except EventError as error:
        raise ValueError(str(error)) from error
    return tuple(events)
