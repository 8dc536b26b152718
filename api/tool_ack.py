"""`attend_ack`: an agent says that it took a decision."""

from __future__ import annotations

from typing import Annotated

from mcp_types import ToolAnnotations
from msgspec import Meta, Struct

from attend.api.auth import Access, Right
from attend.api.offer import Offer, described
from attend.app import Attend
from attend.core.codec import decode_summary
from attend.errors import StateFormatError

UNKNOWN = "no decision of this decisionId is kept: it is unknown, forgotten, or not yours to see"


class AckArguments(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Of `attend_ack`."""

    decision_id: Annotated[str, Meta(min_length=1, max_length=200, description="From a decision.")]


class AckResult(Struct, frozen=True, rename="camel"):
    """Of `attend_ack`."""

    decision_id: str
    acknowledged_at: Annotated[int, Meta(description="When you first said so, in ms since 1970.")]


TOOL = described(
    "attend_ack",
    "Say that you took a decision",
    "Say that you have taken a decision on: you act on it, or have told the user. Call it once for each interrupt that "
    "you take, as soon as you take it; an interrupt that nobody acknowledges comes up again in attend_wait. Calling it "
    "again changes nothing. It settles nothing and sends nothing: it only keeps that the decision was heard.",
    AckArguments,
    AckResult,
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
)


def ack_tool(app: Attend) -> Offer[AckArguments]:
    """The tool for one app."""

    async def run(asked: AckArguments, access: Access) -> AckResult:
        id, principal = asked.decision_id, access.principal
        stored = await app.store.window(id)
        try:
            summary = None if stored is None or stored.summary is None else decode_summary(stored.summary)
        except StateFormatError as error:
            raise ValueError(UNKNOWN) from error
        if summary is None or not principal.covers(summary.scope):
            raise ValueError(UNKNOWN)
        at = await app.store.records.acknowledge(id, principal.name, app.clock.now())
        if at is None:
            raise ValueError(UNKNOWN)
        access.note("ack", decisionId=id, scope=summary.scope)
        return AckResult(id, at)

    return Offer(TOOL, Right.READ, AckArguments, run)
