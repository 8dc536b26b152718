"""What a check found, and how it is written."""

from __future__ import annotations

import sys
from enum import StrEnum

import msgspec
from msgspec import Struct

from attend.cli.screen import console, safe


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    """As it should be."""
    NOTE = "note"
    """Good to know."""
    PROBLEM = "problem"
    """Something is to be done."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """What one check found: in a sentence, what to do about it, and whether that was done."""

    check: str
    level: Level
    text: str
    advice: str = ""
    repaired: bool = False

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return self.level is Level.PROBLEM and not self.repaired


STYLES = {Level.OK: "green", Level.NOTE: "cyan", Level.PROBLEM: "bold red"}


def ok(check: str, text: str) -> Finding:
    """As it should be."""
    return Finding(check, Level.OK, text)


def note(check: str, text: str, advice: str = "") -> Finding:
    """Good to know."""
    return Finding(check, Level.NOTE, text, advice)


def problem(check: str, text: str, advice: str) -> Finding:
    """Something is to be done."""
    return Finding(check, Level.PROBLEM, text, advice)


def show(finding: Finding, *, as_json: bool) -> None:
    """Write a finding: one line, and what to do on one below."""
    if as_json:
        sys.stdout.write(msgspec.json.encode(finding).decode() + "\n")
        sys.stdout.flush()
        return
    from rich.text import Text

    level = "repaired" if finding.repaired else finding.level.value
    style = "green" if finding.repaired else STYLES[finding.level]
    line = Text.assemble((f"{level:<8}", style), f"  {finding.check:<12}  {safe(finding.text)}")
    out = console()
    out.print(line)
    if finding.advice and not finding.repaired:
        out.print(f"{'':<24}-> {safe(finding.advice)}")
    sys.stdout.flush()
