"""Arguments and payloads: each is one struct, and its JSON Schema and its validation both come from that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T", bound=Struct)


def schema_of(type: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, an object at its root as MCP asks for.

    What may be left out is not described as null as well: `read_arguments` takes null for it, and that is all.
    """
    _, components = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    for each in components.values():
        each["properties"] = {name: _without_null(part) for name, part in each.get("properties", {}).items()}
    root: dict[str, Any] = components.pop(type.__name__)
    for word in ("title", "description"):
        root.pop(word, None)
    return {**root, "$defs": components} if components else root


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    either: list[dict[str, Any]] = part.get("anyOf", [])
    if len(either) == 2 and either[1] == {"type": "null"}:
        return either[0]
    return part


def read_arguments(type: type[T], arguments: Mapping[str, Any] | None, nulls: Collection[str] = ()) -> T:
    """Arguments as the struct; null is as good as left out, but for those named in `nulls`.

    Raises `ValueError` that says which one is wrong and what would be right.
    """
    given = {name: value for name, value in (arguments or {}).items() if value is not None or name in nulls}
    try:
        return msgspec.convert(given, type)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$.", "`").replace(" | null`", "`")) from error
