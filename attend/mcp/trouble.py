"""What a source of another server's events tells of, that does not end it."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Trouble = Literal["error", "invalid", "overflow", "idle", "unrouted", "terminated"]


class SourceTrouble(Struct, frozen=True):
    """Something went wrong, and the subscription goes on.

    `error`: the server says that it has trouble. `invalid`: it sent what cannot be read, which is passed over.
    `overflow`: more came than the store took; the stream is opened again. `idle`: nothing came, no heartbeat either;
    likewise. `unrouted`: a notification of a subscription that nobody here opened. `terminated`: the server ended
    the subscription; it is asked for again. `data` is what there was to read, which a stranger may have written.
    """

    kind: Trouble
    message: str
    data: Any = None
