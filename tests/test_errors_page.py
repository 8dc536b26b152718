"""The page of error codes lists what the API can say, all of it and nothing else."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from pathlib import Path

from attend.api import codes
from attend.api.codes import LineCode, RequestCode, StreamCode

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (Of a [a-z]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table."""
    found = [line for line in SECTIONS[section].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in found[1:]]


def documented(code: type[StrEnum]) -> dict[str, str]:
    """Each code with what its source says of it."""
    [found] = [
        node
        for node in ast.parse(Path(codes.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == code.__name__
    ]
    values = [ast.literal_eval(node.value) for node in found.body if isinstance(node, ast.Assign)]
    said = [ast.literal_eval(node.value) for node in found.body if isinstance(node, ast.Expr)][1:]
    return dict(zip(values, said, strict=True))


def test_every_code_of_a_line_and_of_a_stream_is_listed_once_with_what_to_do() -> None:
    for section, code in (("Of a line", LineCode), ("Of a stream", StreamCode)):
        table = rows(section)
        assert sorted(row[0].strip("`") for row in table) == sorted(code)
        assert all(len(row) == 3 and all(row) for row in table)


def test_every_code_of_a_request_is_listed_once_with_its_status() -> None:
    table = rows("Of a request")
    said = {code: text.partition(":")[0] for code, text in documented(RequestCode).items()}
    assert sorted((row[1].strip("`"), row[0]) for row in table) == sorted(said.items())
    assert all(len(row) == 4 and all(row) for row in table)
