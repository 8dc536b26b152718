"""Subscribers are told of a decision that was made without its judge."""

from __future__ import annotations

from attend.api.schema import schema_of
from attend.core.types import Reason, Route, Summary
from attend.payload import Payload, payload


def decision(*, degraded: bool) -> Summary:
    """A row of the log."""
    return Summary(
        id="d",
        scope="s",
        route=Route.INTERRUPT,
        reason=Reason.FLUSH,
        decided_at=1,
        notice="n",
        event_ids=("e",),
        degraded=degraded,
    )


def test_a_payload_says_that_it_is_degraded_and_nothing_where_it_is_not() -> None:
    assert payload(decision(degraded=True))["degraded"] is True
    assert payload(decision(degraded=True), redact=True)["degraded"] is True
    assert "degraded" not in payload(decision(degraded=False))


def test_the_schema_has_it() -> None:
    assert schema_of(Payload)["properties"]["degraded"]["type"] == "boolean"
    assert "degraded" not in schema_of(Payload)["required"]
