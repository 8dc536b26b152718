"""The Litestar app: which route is whose, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, Request, Response, asgi
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from attend.api.answer import Problem
from attend.api.audit import Audit
from attend.api.auth import Gate
from attend.api.body import Flight
from attend.api.codes import RequestCode
from attend.api.explain import PATH as DECISIONS
from attend.api.explain import Explain
from attend.api.health import Health
from attend.api.ingest import Ingest
from attend.api.intake import Intake
from attend.api.mcp import Endpoint
from attend.api.rate import Rates
from attend.api.scopes import PATH as SCOPES
from attend.api.scopes import Scopes
from attend.api.settings import ApiSettings
from attend.api.stopping import Stopping
from attend.api.stream import Stream
from attend.api.withdrawn import ending_withdrawn
from attend.app import Attend
from attend.principals import Principals


def build(app: Attend, settings: ApiSettings | None = None) -> Litestar:
    """HTTP and MCP for an app, as an ASGI application that starts the app when it starts.

    `state.stopping.begin()` ends open streams and waits; call it before the server stops. An application is
    started once: build another for another run. Raises `ConfigError` for a file of principals that cannot be used.
    """
    settings = settings or ApiSettings()
    stopping = Stopping(app.feed, app.news)
    health = Health(app, stopping)
    flight = Flight(settings.max_in_flight_bytes, settings.max_in_flight_requests)
    rates = Rates(settings.rate)
    endpoint = Endpoint(app, settings, stopping, flight, rates)
    ways_in = Intake(app, settings.max_line), flight, rates
    principals = Principals(settings.token, settings.principals)
    principals.on_change += [app.feed.wake, app.news.wake]
    audit = Audit(app.store.records, app.clock, settings.audit_rows)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncGenerator[None]:
        await app.start()
        await app.feed.start()
        ending = ending_withdrawn(app, principals)
        async with endpoint.run(), audit.run(), ending, _watching(principals):
            yield

    made = Litestar(
        route_handlers=[
            _route("/v1/ingest", Ingest(*ways_in, settings)),
            _route("/v1/ingest/stream", Stream(*ways_in, settings, stopping)),
            asgi(SCOPES, is_mount=True, copy_scope=True)(Scopes(app)),
            asgi(DECISIONS, is_mount=True, copy_scope=True)(Explain(app)),
            _route("/healthz", health.alive),
            _route("/readyz", health.ready),
            asgi("/mcp", is_mount=True, copy_scope=True)(endpoint),
        ],
        exception_handlers={HTTPException: _turned_away},
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
    )
    # In front of the routing, so that it stands before what is not there as well.
    made.asgi_handler = Gate(made.asgi_handler, principals, audit, settings.hosts)
    made.state.stopping = stopping
    return made


@asynccontextmanager
async def _watching(principals: Principals) -> AsyncGenerator[None]:
    watching = asyncio.create_task(principals.watch(), name="attend principals")
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])


def _route(path: str, handler: ASGIApp) -> Any:
    return asgi(path, copy_scope=True)(handler)


def _turned_away(_: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    code = {405: RequestCode.METHOD_NOT_ALLOWED}.get(error.status_code, RequestCode.NOT_FOUND)
    return Response(Problem(code, error.detail), status_code=error.status_code)
