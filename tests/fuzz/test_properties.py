"""Properties of reading lines: no line's fate depends on another's, and the counts add up."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from attend import Attend
from attend.api.auth import ANYONE
from attend.api.intake import Intake
from tests.fuzz.fate import GOOD, MARK, MAX_LINE, SEEDS, check, check_cut

KEYS = ["scope", "id", "at", "name", "data", "text", "flush", "end", "other"]
values: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(
        [None, True, False, 0, -1, 1760570000123, 1.5, "", "s", "n", "a", "\u2028", "\ud83d", 1e300]
    )
    | st.integers()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(KEYS), values, max_size=6)
extras: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["id", "data", "text", "at"]), values, max_size=3
)


def _event(more: dict[str, Any]) -> dict[str, Any]:
    return {"scope": "s", "name": "n", **more}


def _spell(value: Any, ascii: bool, space: str) -> bytes:
    separators = (space + "," + space, space + ":" + space)
    text = json.dumps(value, ensure_ascii=ascii, separators=separators)
    return text.encode("utf-8", "surrogatepass")


def _changed(line: bytes, at: int, by: bytes, length: int) -> bytes:
    at %= len(line) + 1
    return line[:at] + by + line[at + length :]


def _longer(size: int) -> bytes:
    return GOOD[:-2] + b"x" * size + GOOD[-2:]


def _body(mark: bool, parts: list[bytes]) -> bytes:
    return (MARK if mark else b"") + b"\n".join(parts)


spelled = st.builds(
    _spell, st.builds(_event, extras) | objects, st.booleans(), st.sampled_from(["", " ", "\t"])
)
pieces = st.sampled_from(
    [
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b",",
        b":",
        b"\xff",
        b"\xed\xa0\x80",
        b"\r",
        b"\x00",
        b"1e999",
        b"NaN",
        MARK,
    ]
)
broken = st.builds(
    _changed,
    spelled | st.sampled_from(SEEDS),
    st.integers(0, 400),
    pieces | st.binary(max_size=3),
    st.integers(0, 4),
)
long = st.builds(_longer, st.sampled_from([100, MAX_LINE, MAX_LINE * 3]))
lines = st.just(GOOD) | st.just(b"") | st.just(b" \t\r") | spelled | broken | long
bodies = st.builds(_body, st.booleans(), st.lists(lines, max_size=8))


@settings(max_examples=400, deadline=None)
@given(bodies)
def test_each_line_has_one_fate_that_is_its_own(body: bytes) -> None:
    check(body)


@settings(max_examples=200, deadline=None)
@given(bodies, st.lists(st.integers(0, 2000), max_size=12))
def test_a_stream_is_read_alike_however_it_is_cut(body: bytes, cuts: list[int]) -> None:
    check_cut(body, [min(cut, len(body)) for cut in cuts])


@settings(max_examples=100, deadline=None)
@given(bodies)
def test_accepted_duplicates_and_rejected_are_all_lines_that_are_not_blank(body: bytes) -> None:
    async def take() -> None:
        async with Attend(kind={"n": "flush"}) as app:
            intake = Intake(app, MAX_LINE)
            for _ in range(2):
                reply = await intake.take(body, ANYONE)
                count = sum(bool(line.strip()) for line in body.removeprefix(MARK).split(b"\n"))
                assert reply.accepted + reply.duplicates + len(reply.rejected) == count
                assert len({each.line for each in reply.rejected}) == len(reply.rejected)

    asyncio.run(take())
