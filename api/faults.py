"""The errors of MCP that attend raises, in one table: their numbers are not settled for everyone yet."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

from attend.core.subscription import Failure
from attend.webhooks.profiles import PROFILES

WITHDRAWN = "What this token may see has changed; ask again for what it may see now"
"""What a reader is told whose right ended while it read."""


class Faults:
    """Makes the errors, with the numbers of one profile."""

    def __init__(self, profile: str) -> None:
        self._numbers = PROFILES[profile]

    def unknown_event(self, name: str) -> MCPError:
        """There is no event type of this name."""
        return MCPError(self._numbers["NotFound"], f"There is no event {name!r}", {"kind": "event"})

    def unknown_subscription(self) -> MCPError:
        """There is nothing to unsubscribe."""
        return MCPError(self._numbers["NotFound"], "There is no such subscription", {"kind": "subscription"})

    def forbidden(self) -> MCPError:
        """The right to read was withdrawn, or does not reach as far as it did."""
        return MCPError(self._numbers["Forbidden"], WITHDRAWN)

    def exhausted(self, limit: str, most: int) -> MCPError:
        """There are as many as there may be."""
        data = {"limit": limit, "max": most}
        return MCPError(self._numbers["ResourceExhausted"], f"There may be {most} {limit} at once", data)

    def unsupported_mode(self, mode: str) -> MCPError:
        """The event type is not delivered this way."""
        return MCPError(
            self._numbers["Unsupported"],
            f"{mode} is not offered here; events/list says what is",
            {"feature": "deliveryMode", "value": mode},
        )

    def unauthenticated(self) -> MCPError:
        """Webhooks are for principals: nobody else's subscription could be told from another's."""
        reason = "webhooks are for callers with a token"
        return MCPError(self._numbers["Forbidden"], f"Forbidden: {reason}", {"reason": reason})

    def callback(self, failure: Failure) -> MCPError:
        """The endpoint could not be verified."""
        message = "The endpoint did not answer its verification as it should"
        return MCPError(self._numbers["CallbackEndpointError"], message, {"reason": failure.value})


def invalid(message: str) -> MCPError:
    """The request's parameters are wrong."""
    return MCPError(INVALID_PARAMS, message)


def no_method(method: str) -> MCPError:
    """The method does not exist, or not for this protocol version."""
    return MCPError(METHOD_NOT_FOUND, "Method not found", method)


def unavailable() -> MCPError:
    """The log cannot be read now."""
    return MCPError(INTERNAL_ERROR, "The decision log cannot be read now; try again", {"retryAfterMs": 1000})


def frame(error: MCPError) -> dict[str, Any]:
    """An error as a notification carries it."""
    found: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        found["data"] = error.data
    return found
