"""HTTP and MCP: a Litestar app that translates and never decides."""

from __future__ import annotations

from attend.api.app import build
from attend.api.process import run_api
from attend.api.server import Server, serve
from attend.api.settings import ApiSettings

__all__ = ["ApiSettings", "Server", "build", "run_api", "serve"]
