"""The API as a process of its own: `attend api`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine

import uvicorn

from attend.api.server import Server, serve
from attend.api.settings import ApiSettings
from attend.app import Attend, from_settings
from attend.settings import Settings
from attend.trace import log_traces


def api_settings(settings: Settings) -> ApiSettings:
    """What of a deployment's settings the API is told."""
    return ApiSettings(
        token=settings.token,
        principals=settings.principals,
        audit_rows=settings.audit_rows,
        ack_after_ms=settings.ack_after_ms,
        ack_times=settings.ack_times,
        hosts=settings.allow_hosts,
        max_body=settings.max_body,
        max_line=settings.max_line,
        body_deadline_ms=settings.body_deadline_ms,
        max_in_flight_bytes=settings.max_in_flight_bytes,
        max_in_flight_requests=settings.max_in_flight_requests,
        rate=settings.rate,
        stream_credits=settings.stream_credits,
        stream_idle_ms=settings.stream_idle_ms,
        workspace=settings.prefix,
        max_listeners=settings.max_listeners,
        max_listeners_per_token=settings.max_listeners_per_token,
        heartbeat_ms=settings.heartbeat_ms,
        poll_ms=settings.poll_ms,
        errors=settings.mcp_errors,
        shutdown_grace_ms=settings.shutdown_grace_ms,
    )


def server_of(settings: Settings, app: Attend) -> Server:
    """A deployment's server for an app, starting; workers elsewhere judge and deliver. Raises as `serve` does."""
    return serve(
        app,
        api_settings(settings),
        host=settings.host,
        port=settings.port,
        socket=settings.socket,
        run=False,
    )


def start_line(server: Server) -> str:
    """What a process says once it serves."""
    url = server.url()
    base = "http://localhost" if url.startswith("unix:") else url
    return f"attend serving {url}  (ingest POST {base}/v1/ingest, MCP {base}/mcp)"


def run_api(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; workers elsewhere judge and deliver.

    Raises `ConfigError` for settings that cannot be used, `StoreUnavailableError` where the store cannot be
    reached.
    """
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(_run(settings))


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes event loops for a process that serves: uvloop's where it is installed."""
    return uvicorn.Config("", log_config=None).get_loop_factory()


async def _run(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = from_settings(settings, observe=log_traces, asks=False)
    try:
        server = server_of(settings, app)
        try:
            await _until(stop, server.ready())
            if not stop.is_set():
                print(start_line(server), flush=True)
            await _until(stop, server.ended())
        finally:
            await server.close()
    finally:
        await app.close()


async def _until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Wait for the work, or until it is time to stop. Raises what the work does."""
    doing, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait((doing, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if doing.done():
        doing.result()
    doing.cancel()
