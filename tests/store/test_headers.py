"""Each script's header is its interface, so it must say what the body does."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from attend.store.scripts import NAMES, source

LUA = files("attend.lua")


def parts(name: str) -> tuple[str, str]:
    """A script's header, and its body with includes."""
    text = source(name)
    match = re.match(r"--\[\[\n(.*?)\n\]\]\n", text, re.DOTALL)
    assert match, f"{name}.lua begins with no header"
    return match[1], text[match.end() :]


def test_every_script_is_listed() -> None:
    assert sorted(NAMES) == sorted(
        entry.name.removesuffix(".lua") for entry in LUA.iterdir() if entry.name.endswith(".lua")
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_header_begins_with_the_scripts_name_and_purpose(name: str) -> None:
    assert re.match(rf"  {name}: [a-z].*[.]\n\n", parts(name)[0] + "\n\n")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("table", ["KEYS", "ARGV"])
def test_a_header_numbers_what_the_body_uses(name: str, table: str) -> None:
    header, body = parts(name)
    declared = re.findall(rf"^  {table}\[(\d+)(\.\.)?\]\s+\w+", header, re.MULTILINE)
    numbers = [int(number) for number, _ in declared]
    assert numbers == list(range(1, len(numbers) + 1))
    assert not any(rest for _, rest in declared[:-1]), "only the last may stand for the rest"
    rest = bool(declared) and bool(declared[-1][1])
    fixed = set(numbers[:-1] if rest else numbers)
    used = {int(number) for number in re.findall(rf"{table}\[(\d+)\]", body)}
    assert used == fixed
    assert bool(re.search(rf"{table}\[([^\]\d]|\d+ )", body)) is rest


@pytest.mark.parametrize("name", NAMES)
def test_every_key_has_a_type_and_its_literal_shape(name: str) -> None:
    header, _ = parts(name)
    section = re.search(r"^  KEYS\[.*?(?=^  ARGV|^  Returns)", header, re.DOTALL | re.MULTILINE)
    assert section
    lines = [line for line in section[0].splitlines() if line.strip() and "for each" not in line]
    for line in lines:
        assert re.match(
            r"\s+(KEYS\[\d+\]\s+)?\w+\s+(hash|list|set|zset|stream)\s+attend:\{<prefix>\}:\S+", line
        ), line


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_what_returns(name: str) -> None:
    header, body = parts(name)
    assert re.search(r"^  Returns\n    \S", header, re.MULTILINE)
    assert re.search(r"^return ", body, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_no_script_reads_a_clock_or_decodes_a_payload(name: str) -> None:
    _, body = parts(name)
    assert not re.search(r"'TIME'|cjson|cmsgpack|os\.|math\.random|'KEYS'|'SCAN'", body)


def test_fragments_have_functions_only() -> None:
    for entry in LUA.joinpath("include").iterdir():
        for line in entry.read_text(encoding="utf-8").splitlines():
            assert not line or line.startswith((" ", "--", "local function ", "end")), f"{entry.name}: {line}"
