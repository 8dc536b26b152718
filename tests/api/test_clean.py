from __future__ import annotations

import pytest

from attend.api.clean import read_clean

GOOD = b'{"scope":"a:b","id":"1:2","name":"n:m","data":{"x":"y:z"},"text":"so: it is"}'
PLAIN = b'{"scope":"s","name":"n"}'


@pytest.mark.parametrize(
    "body",
    [
        PLAIN,
        PLAIN + b"\n",
        GOOD + b"\n" + PLAIN,
        b'{"name" : "n", "scope" :"s",\t"data": {"name":1,"name":2}, "at":1760570000123}',
        b'{"scope":"s","name":"n","text":"say \\"a\\": b\\n"}',
    ],
)
def test_what_nearly_everyone_sends_is_read_together(body: bytes) -> None:
    found = read_clean(body, 7)
    assert found is not None
    assert found.first == 7
    assert len(found.lines) == len(found.data) == len(body.rstrip().split(b"\n"))


@pytest.mark.parametrize(
    "line",
    [
        b'{"scope":"s","name":"n","name":"m"}',
        b'{"scope":"s","name":"n","text":"a:b","text":"c"}',
        b'{"scope":"s","name":"n","text":"c","text":"a:b"}',
        b'{"scope":"s","name":"n","data":{"a":1},"data":{}}',
        b'{"scope":"s","name":"n","n\\u0061me":"m"}',
        b'{"scope":"s","name":"n","name":"m","text":"\\u003a"}',
        b'{"scope":"s","name":"n","name":"m","text":"\\u003A"}',
        b'{"scope":"s","name":"n","id":null}',
        b'{"scope":"s","name":"n","other":1}',
        b'{"scope":"s","name":"n"}{"scope":"s","name":"n"}',
        b'{"scope":"s",\n"name":"n"}',
        b'{"scope":"s","name":"n","data":"\xff"}',
        b'{"scope":"s","name":"n","data":' + b"[" * 65 + b"]" * 65 + b"}",
        b'{"scope":"s","flush":true}',
        b" ",
    ],
)
def test_whatever_might_be_wrong_is_left_to_those_that_look_at_each_line(line: bytes) -> None:
    for body in (line, PLAIN + b"\n" + line, line + b"\n" + PLAIN, GOOD + b"\n" + line + b"\n" + GOOD):
        assert read_clean(body, 1) is None
