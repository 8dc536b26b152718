"""The `attend` command: reads the command line, says what is wrong with it, and starts what was asked for.

Exit codes: 0 for a run that was asked to end and did, 1 for one that failed, 2 for settings that are wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from attend.cli import log, parent, tool
from attend.cli.flags import REMOTE
from attend.cli.screen import complain
from attend.errors import AttendError, ConfigError, StoreUnavailableError
from attend.option import nearest, without_password
from attend.options import OPTIONS
from attend.settings import CONFIG, Settings, misspelt
from attend.version import __version__

_ONE_MACHINE = {"data", "workers"}
_WORK = {"concurrency", "sources"}
_HTTP = {
    *(
        "host",
        "port",
        "socket",
        "token",
        "principals",
        "allow_hosts",
        "max_body",
        "max_line",
        "body_deadline_ms",
    ),
    *("max_in_flight_bytes", "max_in_flight_requests", "stream_credits", "stream_idle_ms", "audit_rows"),
    *("max_listeners_per_token", "max_subscriptions"),
}
_WIRE = {
    *_HTTP,
    *("heartbeat_ms", "poll_ms", "rate", "ack_after_ms", "ack_times", "max_listeners", "mcp_errors"),
}
_ALL = {each.name for each in OPTIONS}

COMMANDS: dict[str, tuple[str, set[str]]] = {
    "serve": ("the API, workers and a database server of its own, in one command", _ALL),
    "api": ("the API alone, on a server of yours", _ALL - _ONE_MACHINE - _WORK),
    "mcp": (
        "the MCP server on standard input and output, on a server of yours",
        _ALL - _ONE_MACHINE - _WORK - _HTTP,
    ),
    "worker": ("one worker alone, on a server of yours", _ALL - _ONE_MACHINE - _WIRE),
    "demo": ("a short story with a real server, and what an agent hears of it", set()),
}
"""Each command with what it is for and the settings it takes."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, where argparse would print its usage as well."""
        self.exit(2, f"attend: {message}; see {self.prog} --help\n")

    def parse_known_args(self, *args: Any, **named: Any) -> tuple[Any, list[str]]:
        """As argparse does, but what a command does not know is an error of that command, which has the flags."""
        found, unknown = super().parse_known_args(*args, **named)
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings]
            said: list[str] = []
            for word in (each.partition("=")[0] for each in unknown if each.startswith("-")):
                close = nearest(word, flags)
                said.append(f"there is no flag {word}" + (f"; did you mean {close}?" if close else ""))
            self.error(", ".join(said) or f"it takes no {' '.join(unknown)}")
        return found, unknown


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = _Parser(
        prog="attend", description="Decide when an event should wake your agent.", allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=f"attend {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser, required=True)
    for name, (about, settings) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=about,
            description=about,
            allow_abbrev=False,
            epilog="Each flag has an environment variable, in brackets; the flag wins." if settings else None,
        )
        for each in OPTIONS:
            if each.name in settings:
                text = f"{each.help.replace('%', '%%')} (default: {each.default}) [{each.variable}]"
                metavar = each.flag.removeprefix("--").replace("-", "_").upper()
                command.add_argument(each.flag, dest=each.name, action="append", metavar=metavar, help=text)
        if settings:
            text = f"a file of settings; flags and variables win over it [{CONFIG}]"
            command.add_argument("--config", action="append", metavar="FILE", help=text)
    tool.add(commands.add_parser)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given: dict[str, Any] = vars(
        parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    )
    command: str = given.pop("command")
    sys.path.append(os.getcwd())
    log.configure()
    try:
        for line in misspelt(os.environ, {each.variable for each in REMOTE}):
            (log.warn if command in COMMANDS else complain)(line)
        if command == "demo":
            from attend.cli.demo import run_demo

            return run_demo()
        if command in tool.TOOLS:
            return tool.run(command, given)
        flags = {name: values for name, values in given.items() if values is not None}
        settings = Settings.read(flags, os.environ, COMMANDS[command][1])
        parent.follow(os.environ, settings.shutdown_grace_ms / 1000 + 2)
        try:
            return _run(command, settings)
        except StoreUnavailableError as error:
            where = "" if settings.store is None else f"--store {without_password(settings.store)}: "
            print(f"attend: {where}{error}", file=sys.stderr)
            return 1
    except ConfigError as error:
        for problem in error.problems:
            print(f"attend: {problem}", file=sys.stderr)
        return 2
    except AttendError as error:
        print(f"attend: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _joined(words: Sequence[str]) -> list[str]:
    """The command line, with a cursor that begins with a dash joined to its flag: argparse would take it for one."""
    found: list[str] = []
    for word in words:
        if found and found[-1] == "--from" and re.fullmatch(r"-[A-Za-z0-9_-]{31,511}", word):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def _run(command: str, settings: Settings) -> int:
    """Start it. Each imports what it needs itself, so that `--version` and an error take no time."""
    if command == "serve":
        from attend.cli.serve import run_serve

        return run_serve(settings)
    if settings.store is None or settings.store == "memory":
        raise ConfigError(
            f"--store: attend {command} needs the URL of a server that the whole fleet can reach, "
            "such as redis://localhost:6379; attend serve brings its own"
        )
    if command == "api":
        from attend.api.process import run_api

        run_api(settings)
        return 0
    if command == "mcp":
        from attend.api.stdio import run_stdio

        run_stdio(settings)
        return 0
    from attend.cli.crew import tell_ready
    from attend.workers import run_worker

    run_worker(settings, ready=lambda: tell_ready(os.environ))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
