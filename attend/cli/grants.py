"""The tools about who may: what each takes on the command line, and how it is started."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from attend.cli.flags import STORE

GRANTS = ("token", "audit")

TOKEN_ABOUT = "make tokens for principals"


def add(
    command: Callable[..., argparse.ArgumentParser], tool: Callable[..., argparse.ArgumentParser]
) -> None:
    """Add them, with functions that add a command and a tool."""
    from attend.cli.audit import AUDIT
    from attend.cli.token import TOKEN

    token = command("token", help=TOKEN_ABOUT, description=TOKEN_ABOUT, allow_abbrev=False)
    acts = token.add_subparsers(dest="act", metavar="ACT", parser_class=type(token), required=True)
    new = tool("new", "a new token for a principal, shown once", (), TOKEN, acts.add_parser)
    new.add_argument("name", metavar="NAME", help="what the principal is called")
    audit = tool("audit", "show who did what", STORE, AUDIT)
    audit.add_argument("--json", action="store_true", help="one line of JSON each")


def run(command: str, given: dict[str, Any], flags: dict[str, list[str]]) -> int:
    """Run one and return its exit code. Raises `ConfigError` with all that is wrong with its flags."""
    if command == "token":
        from attend.cli.token import run_token

        return run_token(given["name"], flags)
    from attend.cli.audit import run_audit

    return run_audit(flags, as_json=given["json"])
