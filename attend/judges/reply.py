"""Finding the verdict in what a model wrote.

Models put a fence or a sentence round their JSON, and may repeat what an event said. So the verdict is the one object
at the top level that has a route; where there are two that differ, or the text breaks off, there is none.
"""

from __future__ import annotations

import json
from typing import Any

from attend.judges.answer import UnreadableError
from attend.judges.shape import is_object

MAX_CHARS = 200_000
_MAX_TRIES = 200


def verdict_in(text: str) -> dict[str, Any]:
    """The one object with a `route` in a text. Raises `UnreadableError`."""
    if len(text) > MAX_CHARS:
        raise UnreadableError(f"its reply is over {MAX_CHARS} characters")
    # What a reasoning model thought aloud is not its answer.
    text = text.rpartition("</think>")[2]
    found: list[dict[str, Any]] = []
    for each in _objects(text):
        if "route" in each and each not in found:
            found.append(each)
    if not found:
        raise UnreadableError("its reply holds no JSON object with a route")
    if len(found) > 1:
        raise UnreadableError("its reply holds more than one verdict")
    return found[0]


def _objects(text: str) -> list[dict[str, Any]]:
    """The objects of a text that stand in no other brace."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse)
    found: list[dict[str, Any]] = []
    depth = at = 0
    for _ in range(_MAX_TRIES):
        start = text.find("{", at)
        depth = max(0, depth - text.count("}", at, len(text) if start < 0 else start))
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                raise UnreadableError("its reply was cut off") from None
            # A brace of prose: what stands inside it is not at the top.
            depth, at = depth + 1, start + 1
        except (ValueError, RecursionError):
            raise UnreadableError("its reply holds JSON that cannot be read") from None
        else:
            if depth == 0 and is_object(value):
                found.append(value)
            at = end
    else:
        raise UnreadableError("its reply is too tangled to read")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
