"""Lines that are read together come out as each does by itself."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attend.api.ndjson import Line, Rejection, read

PLAIN = b'{"scope":"s","id":"a","at":1760570000123,"name":"n","data":{"k":1},"text":"t"}'

ODD = [
    b'{"scope":"s","name":"n","name":"m"}',
    b'{"scope":"s","name":"n","id" :"a"}',
    b'{"scope":"s","name":"n","id"\t:"a","id":"b"}',
    b'{"scope":"s","name":"n","\\u0069d":"a","id":"b"}',
    b'{"scope":"s","name":"n","text":"a \\":\\" b"}',
    b'{"scope":"s","name":"n","data":"a \\":\\" b","text":"\\\\\\":"}',
    b'{"scope":"s","name":"n","data":{"a" : {"name":"x","name":"y"}}}',
    b'{"scope":"s","name":"n","other":1}',
    b'{"scope":"s","name":"n","other\\\\":1,"id":null}',
    b'{"scope":"s","name":"n","at":1760570000}',
    b'{"scope":"s","name":"","id":"a"}',
    b'{"scope":"' + b"s" * 300 + b'","name":"n"}',
    b'{"scope":"' + "é".encode() * 200 + b'","name":"n"}',
    b'{"scope":"s","name":"n","data":[1e999]}',
    b'{"scope":"s","name":"n","data":"\\ud800"}',
    b'{"scope":"s","name":"n","data":"\xff"}',
    b'{"scope":"s","name":"n","data":' + b"[" * 65 + b"]" * 65 + b"}",
    b'{"scope":"s","name":"n","data":' + b"[" * 20_000 + b"}",
    b'{"scope":"s","name":"n"} {"scope":"s","name":"n"}',
    b'{"scope":"s","flush":true}',
    b'{"scope":"s","name":"n","flush":true}',
    b'{"scope":"s",',
    b'"name":"n"}',
    b" \r",
    b"",
    b"[]",
    PLAIN + b"\r",
    PLAIN,
    b"{}",
]


def alone(lines: list[bytes]) -> list[Line | Rejection]:
    found: list[Line | Rejection] = []
    for number, line in enumerate(lines, 1):
        for each in read(line):
            field = {"number": number} if isinstance(each, Line) else {"line": number}
            found.append(msgspec.structs.replace(each, **field))
    return found


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_an_odd_line_among_plain_ones(odd: bytes) -> None:
    lines = [PLAIN, PLAIN, odd, PLAIN]
    assert list(read(b"\n".join(lines))) == alone(lines)


@given(st.lists(st.sampled_from(ODD + [PLAIN] * 10), max_size=12), st.booleans())
@settings(deadline=None)
def test_any_lines(lines: list[bytes], ended: bool) -> None:
    assert list(read(b"\n".join(lines) + b"\n" * ended)) == alone(lines)


def test_bodies_of_many_parts_number_their_lines_through() -> None:
    lines = [PLAIN] * 5000
    lines[2500] = b"bad"
    lines[4000] = b'{"scope":"s","name":"n","text":"%s"}' % (b"x" * 200_000)
    found = list(read(b"\n".join(lines)))
    assert [each.number if isinstance(each, Line) else -each.line for each in found] == [
        -number if number == 2501 else number for number in range(1, 5001)
    ]
