"""How much a judge reads, and what is left out of a window that is longer than that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from attend.errors import ConfigError


class Budget(Struct, frozen=True):
    """What a model reads in one call.

    `reserved_tokens` are kept for what is not the window, but never more than a quarter of a small model's
    context. `bytes_per_token` is what a token is reckoned at.
    """

    context_tokens: int | None = None
    reserved_tokens: int = 2048
    bytes_per_token: int = 3

    def check(self) -> Budget:
        """Itself, if it can be used. Raises `ConfigError` with every problem."""
        problems = [
            f"{name} is {value}, it must be {least} or more"
            for name, value, least in (
                ("context_tokens", self.context_tokens, 1),
                ("reserved_tokens", self.reserved_tokens, 0),
                ("bytes_per_token", self.bytes_per_token, 1),
            )
            if value is not None and value < least
        ]
        if problems:
            raise ConfigError(*problems)
        return self

    def room(self, taken_bytes: int, taken_tokens: int) -> int | None:
        """The bytes left for events once so many bytes and tokens are taken; None where there is no limit."""
        if self.context_tokens is None:
            return None
        reserved = min(self.reserved_tokens, self.context_tokens // 4)
        return max(0, (self.context_tokens - reserved - taken_tokens) * self.bytes_per_token - taken_bytes)


def budget_of(judge: object) -> Budget | None:
    """What a judge declares: its `budget`, or its `context_tokens` at the usual rates; None where it says nothing."""
    declared: Any = getattr(judge, "budget", None)
    if isinstance(declared, Budget):
        return declared if declared.context_tokens is not None else None
    tokens: Any = getattr(judge, "context_tokens", None)
    return None if tokens is None else Budget(tokens)


class Weighed(Protocol):
    """Something of a size that may or may not be left out."""

    @property
    def size(self) -> int:
        """Its bytes."""
        ...

    @property
    def is_act(self) -> bool:
        """Whether it stays whatever the size."""
        ...


T = TypeVar("T", bound=Weighed)


def shed(events: Sequence[T], room: int) -> tuple[T, ...]:
    """The events that stay within `room` bytes: non-acts go, oldest first, until the rest fits; acts all stay.

    Where there is no act the newest event stays too, or the judge would be asked about nothing.
    """
    over = sum(event.size for event in events) - room
    last = None if any(event.is_act for event in events) else len(events) - 1
    kept: list[T] = []
    for index, event in enumerate(events):
        if over > 0 and not event.is_act and index != last:
            over -= event.size
        else:
            kept.append(event)
    return tuple(kept)
