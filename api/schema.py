"""Arguments and payloads: each is one struct, and its JSON Schema and its validation both come from that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T", bound=Struct)


def schema_of(type: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, an object at its root as MCP asks for."""
    [_], components = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    root: dict[str, Any] = components.pop(type.__name__)
    root.pop("title", None)
    return {**root, "$defs": components} if components else root


def read_arguments(type: type[T], arguments: Mapping[str, Any] | None) -> T:
    """Arguments as the struct. Raises `ValueError` that says which one is wrong and what would be right."""
    try:
        return msgspec.convert(arguments or {}, type)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$.", "`").replace("- at `$`", "").strip()) from error
