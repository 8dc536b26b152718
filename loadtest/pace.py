"""Work at a steady rate, whatever became of the piece before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable


async def steadily(count: int, per_second: float) -> AsyncIterator[int]:
    """0, 1, 2, ... each at its own instant; one that is late does not move those after it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for n in range(count):
        await asyncio.sleep(began + n / per_second - loop.time())
        yield n


async def ticks(seconds: float, every: float = 0.02) -> AsyncIterator[None]:
    """One at once and one `every` so many seconds, until `seconds` are over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        yield
        await asyncio.sleep(every)


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition. Raises `TimeoutError` when it is not met in time."""
    async for _ in ticks(seconds):
        if condition():
            return
    raise TimeoutError(f"not within {seconds:g} s")
