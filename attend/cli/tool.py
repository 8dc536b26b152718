"""The tools on the command line: what each takes, and how it is started."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from attend.cli import grants, hears, tries
from attend.cli.flags import DEAD, PUSH, REMOTE, SHORT, STORE, TAIL
from attend.cli.screen import hush
from attend.option import Option

TOOLS = ("push", "tail", "scope", "doctor", "dead", *hears.HEARS, *tries.TRIES, *grants.GRANTS)

DEAD_ABOUT = "list, show, retry or drop what no judge or sink could take"
DEAD_ACTS = {
    "list": "list dead letters, longest dead first",
    "show": "show a dead letter with its events",
    "retry": "try dead letters again, from the stage that gave up on them",
    "drop": "give up on dead letters for good",
}


def add(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the tools, with a function that adds a command."""

    def tool(
        name: str,
        about: str,
        variables: Iterable[Option],
        flags: Iterable[Option],
        command: Callable[..., argparse.ArgumentParser] = command,
    ) -> argparse.ArgumentParser:
        made = command(
            name,
            help=about,
            description=about,
            allow_abbrev=False,
            epilog="A flag in brackets is a variable that says the same; the flag wins.",
        )
        for each in (*flags, *variables):
            shown = f" [{each.variable}]" if each in variables else ""
            text = f"{each.help.replace('%', '%%')} (default: {each.default}){shown}"
            names = [SHORT[each.name]] if each.name in SHORT else []
            metavar = each.flag.removeprefix("--").replace("-", "_").upper()
            made.add_argument(*names, each.flag, dest=each.name, action="append", metavar=metavar, help=text)
        return made

    push = tool("push", "send events from files, or - for stdin", REMOTE, PUSH)
    push.add_argument("files", nargs="*", metavar="FILE", help="NDJSON, one event a line; - is stdin")
    push.add_argument(
        "--stream", action="store_true", help="over one request that stays open, each line as it comes"
    )
    tail = tool("tail", "show decisions as they come", REMOTE, TAIL)
    tail.add_argument(
        "--no-follow", action="store_true", help="end once what is kept has been shown; it begins at `start`"
    )
    tail.add_argument("--json", action="store_true", help="one line of JSON each")
    scope = tool("scope", "show what is open in a scope, and why it has not settled", REMOTE, ())
    scope.add_argument("name", metavar="NAME", help="the scope")
    scope.add_argument("--watch", action="store_true", help="go on showing it as it changes")
    scope.add_argument("--json", action="store_true", help="as JSON")
    doctor = tool("doctor", "look a store over for what goes wrong, and what to do about it", STORE, ())
    doctor.add_argument("--repair", action="store_true", help="put right what can be put right safely")
    doctor.add_argument("--json", action="store_true", help="one line of JSON each")
    hears.add(tool)
    tries.add(tool)
    grants.add(command, tool)
    _add_dead(command("dead", help=DEAD_ABOUT, description=DEAD_ABOUT, allow_abbrev=False), tool)


def _add_dead(dead: argparse.ArgumentParser, tool: Callable[..., argparse.ArgumentParser]) -> None:
    acts = dead.add_subparsers(dest="act", metavar="ACT", parser_class=type(dead), required=True)
    made = {
        name: tool(name, about, STORE, () if name == "show" else DEAD, acts.add_parser)
        for name, about in DEAD_ACTS.items()
    }
    made["show"].add_argument("ids", nargs=1, metavar="ID", help="a dead letter, as list shows it")
    for name in ("retry", "drop"):
        made[name].add_argument("ids", nargs="*", metavar="ID", help="dead letters, as list shows them")
        made[name].add_argument("--all", action="store_true", help="all of them, or of --scope")
    for each in made.values():
        each.add_argument("--json", action="store_true", help="one line of JSON each")


def run(command: str, given: dict[str, Any]) -> int:
    """Run a tool and return its exit code. Raises `ConfigError` with all that is wrong with its flags."""
    try:
        return _run(command, given)
    except BrokenPipeError:
        # Whoever read what it writes has gone. To `tail` and `scope` that is a way to be asked to stop.
        hush()
        return 0 if command in ("tail", "watch", "scope", "channel") else 1


def _run(command: str, given: dict[str, Any]) -> int:
    files: list[str] = given.pop("files", [])
    flags: dict[str, list[str]] = {name: values for name, values in given.items() if isinstance(values, list)}
    if command in tries.TRIES:
        return tries.run(command, given, flags)
    if command in hears.HEARS:
        return hears.run(command, flags)
    if command in grants.GRANTS:
        return grants.run(command, given, flags)
    if command == "push":
        from attend.cli.push import run_push

        return run_push(files, flags, stream=given["stream"])
    if command == "tail":
        from attend.cli.tail import run_tail

        return run_tail(flags, as_json=given["json"], follow=not given["no_follow"])
    if command == "scope":
        from attend.cli.look import run_look

        return run_look(given["name"], flags, as_json=given["json"], watch=given["watch"])
    if command == "dead":
        from attend.cli.dead import run_dead

        ids = flags.pop("ids", [])
        return run_dead(given["act"], ids, flags, everything=given.get("all", False), as_json=given["json"])
    from attend.cli.check import run_doctor

    return run_doctor(flags, repair=given["repair"], as_json=given["json"])
