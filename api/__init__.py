"""HTTP and MCP: a Litestar app that translates and never decides.

The names are looked up when they are first used: whoever only reads lines of events does without the frameworks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attend.api.app import build
    from attend.api.process import run_api
    from attend.api.server import Server, serve
    from attend.api.settings import ApiSettings

__all__ = ["ApiSettings", "Server", "build", "run_api", "serve"]

_HOME = {
    "ApiSettings": "settings",
    "Server": "server",
    "build": "app",
    "run_api": "process",
    "serve": "server",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'attend.api' has no attribute {name!r}")
    value = getattr(import_module(f"attend.api.{_HOME[name]}"), name)
    globals()[name] = value
    return value
