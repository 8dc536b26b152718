"""MCP over standard input and output: `attend mcp`, for clients that start their servers themselves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TextIO

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.stdio import stdio_server

from attend.api.auth import ANYONE, Access
from attend.api.mcp import mcp_server
from attend.api.process import api_settings
from attend.api.rate import Rates
from attend.api.stopping import Stopping
from attend.app import Attend, from_settings
from attend.settings import Settings
from attend.trace import log_traces

_CHUNK = 65_536


def run_stdio(settings: Settings) -> None:
    """Serve until standard input ends, SIGTERM or SIGINT; workers elsewhere judge and deliver.

    Who started it may what everybody may on a server that asks for no token. Raises `ConfigError` for settings that
    cannot be used, `StoreUnavailableError` where the store cannot be reached.
    """
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    app = from_settings(settings, observe=log_traces, asks=False)
    try:
        await app.start()
        await app.feed.start()
        with _input() as source:
            await _serve(app, settings, source)
    finally:
        await app.close()


async def _serve(app: Attend, settings: Settings, source: TextIO) -> None:
    wire = api_settings(settings)
    stopping = Stopping(app.feed, app.news)
    server = mcp_server(app, wire, stopping, Rates(wire.rate))
    server.middleware.append(_as_anyone)
    try:
        async with stdio_server(stdin=anyio.wrap_file(source)) as (receive, send):
            await server.run(receive, send, server.create_initialization_options())
    finally:
        stopping.begin()


class _Local:
    """What stands for a request's HTTP: there was no gate in front, and whoever holds the pipe started this."""

    def __init__(self) -> None:
        self.scope = {"state": {"access": Access(ANYONE, None, None)}}


async def _as_anyone(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    return await call_next(replace(ctx, request=_Local()))


@contextmanager
def _input() -> Iterator[TextIO]:
    """Standard input, which a signal ends too: a thread that waits in a read of it could not be told to stop."""
    out, into = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def end() -> None:
        # The pipe's last writer is gone with this, while the number stays one that the thread may write to.
        os.dup2(nowhere, into)

    def copy() -> None:
        try:
            while chunk := os.read(sys.stdin.fileno(), _CHUNK):
                view = memoryview(chunk)
                while view:
                    view = view[os.write(into, view) :]
        except OSError:
            pass  # Nobody reads what comes, or it is closed: either is the end.
        end()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    threading.Thread(target=copy, daemon=True, name="attend stdin").start()
    with os.fdopen(out, encoding="utf-8", errors="replace") as source:
        yield source
