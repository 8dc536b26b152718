"""How a hosted judge asks: what fits, and once more with less where its server says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from attend.errors import ContextLengthError, ImagesRejectedError
from attend.judges.budget import Budget
from attend.judges.render import View

T = TypeVar("T")


def fitted(view: View, budget: Budget, other_bytes: Callable[[View], int]) -> View:
    """The view with as many events as the budget lets it have; `other_bytes` measures a request without them."""
    room = budget.room(other_bytes(view.bare()), view.picture_tokens)
    return view if room is None else view.within(room)


async def ask(view: View, send: Callable[[View], Awaitable[T]]) -> T:
    """What `send` answers.

    A window that is too long is sent once more with its events halved, acts staying, and pictures that are not
    taken are left out once. All other tries are attend's own.
    """
    halved = False
    while True:
        try:
            return await send(view)
        except ContextLengthError:
            smaller = None if halved else view.halved()
            if smaller is None:
                raise
            view, halved = smaller, True
        except ImagesRejectedError:
            if not view.pictures:
                raise
            view = view.without_pictures()
