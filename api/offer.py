"""A tool as it is offered: how it is described, which right it asks for, and what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from mcp_types import Tool, ToolAnnotations
from msgspec import Struct

from attend.api.auth import Access, Right
from attend.api.schema import schema_of

A = TypeVar("A", bound=Struct)

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""Of a tool that changes nothing."""


class Offer(Generic[A]):
    """One tool. `run` gives what JSON is made of, and raises `ValueError` for what a model can put right."""

    def __init__(
        self,
        tool: Tool,
        right: Right,
        arguments: type[A],
        run: Callable[[A, Access], Awaitable[Any]],
    ) -> None:
        self.tool = tool
        self.right = right
        self.arguments = arguments
        self.run = run


def described(
    name: str, title: str, description: str, arguments: type[Struct], result: type[Struct], **more: Any
) -> Tool:
    """How a tool is described, its schemas made from the structs of its arguments and its result."""
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema_of(arguments),
        output_schema=schema_of(result),
        annotations=more.get("annotations", READS),
    )
