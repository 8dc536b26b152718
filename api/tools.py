"""The tools for clients that do not subscribe, and for what an agent says itself."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from typing import Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from attend.api.auth import Access, Principal, access_of
from attend.api.faults import invalid, unavailable
from attend.api.offer import Offer
from attend.api.schema import read_arguments
from attend.errors import StoreUnavailableError

Context = ServerRequestContext[Any, Any]


class Tools:
    """Lists and calls what is offered. A principal sees the tools that it has the right for."""

    def __init__(self, offers: Iterable[Offer[Any]]) -> None:
        self._offers = {offer.tool.name: offer for offer in offers}

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """`tools/list`."""
        return ListToolsResult(tools=self.offered(_access(ctx).now()))

    def offered(self, principal: Principal) -> builtins.list[Tool]:
        """The tools that a principal has the right for."""
        return [offer.tool for offer in self._offers.values() if principal.may(offer.right)]

    async def call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        """`tools/call`. What a model can put right comes back as a result with `isError`."""
        offer = self._offers.get(params.name)
        if offer is None:
            raise invalid(f"Unknown tool: {params.name[:100]}")
        access = _access(ctx)
        try:
            if not access.holds(offer.right):
                raise ValueError(f"this token does not have the right to {offer.right}")
            result = await offer.run(read_arguments(offer.arguments, params.arguments), access)
        except ValueError as error:
            return CallToolResult(content=[TextContent(text=f"Not done: {error}")], is_error=True)
        except StoreUnavailableError:
            return CallToolResult(content=[TextContent(text=unavailable().message)], is_error=True)
        text = msgspec.json.encode(result).decode()
        return CallToolResult(content=[TextContent(text=text)], structured_content=json.loads(text))


def _access(ctx: Context) -> Access:
    return access_of(getattr(ctx.request, "scope", {}))
