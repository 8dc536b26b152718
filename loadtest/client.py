"""The client's side of a figure, in a process of its own: `python -m loadtest.client WHAT OPTIONS`, both as JSON."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from loadtest import embedded, flush, ingest

PARTS: Mapping[str, Callable[..., Coroutine[Any, Any, Any]]] = {
    "ingest": ingest.drive,
    "flush": flush.drive,
    "embedded": embedded.drive,
}
"""What can be asked for; each takes the options by name, and what it returns is printed as JSON."""


def main(what: str, options: str) -> None:
    """Run one part."""
    found = asyncio.run(PARTS[what](**msgspec.json.decode(options)))
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
