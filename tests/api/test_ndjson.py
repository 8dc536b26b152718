"""A body's lines: what is taken, what is turned down, and that no line costs its neighbours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attend.api.ndjson import Command, Line, Rejection, read
from attend.core.event import NewEvent

GOOD = b'{"scope":"s","name":"n"}'
AT = 1_760_570_000_123


def rejected(body: bytes, **limits: int) -> list[tuple[int, str]]:
    return [(each.line, each.error) for each in read(body, **limits) if isinstance(each, Rejection)]


def taken(body: bytes) -> list[int]:
    return [each.number for each in read(body) if isinstance(each, Line)]


def only(body: bytes) -> NewEvent | Command:
    [line] = read(body)
    assert isinstance(line, Line), line
    return line.item


def message(body: bytes) -> str:
    [line] = read(body)
    assert isinstance(line, Rejection)
    return line.message


def test_an_event_is_taken_as_it_came() -> None:
    body = b'{"scope":"s","id":"a","at":%d,"name":"n","data":{"v":1.10},"text":"t"}' % AT
    assert only(body) == NewEvent("n", "a", AT, b'{"v":1.10}', "t")
    assert only(GOOD) == NewEvent("n")


def test_a_flush_and_an_end_may_have_an_id() -> None:
    assert only(b'{"scope":"s","flush":true}') == Command(end=False, id=None)
    assert only(b'{"scope":"s","end":true,"id":"x"}') == Command(end=True, id="x")


def test_null_is_as_good_as_left_out() -> None:
    assert only(b'{"scope":"s","id":null,"at":null,"name":"n","text":null}') == NewEvent("n")
    assert only(b'{"scope":"s","flush":true,"data":null,"text":null}') == Command(end=False, id=None)
    assert only(b'{"scope":"s","name":"n","data":null}') == NewEvent("n", data_json=b"null")


def test_one_byte_order_mark_at_the_start_is_dropped() -> None:
    mark = b"\xef\xbb\xbf"
    assert taken(mark + GOOD + b"\n" + GOOD) == [1, 2]
    assert rejected(GOOD + b"\n" + mark + GOOD) == [(2, "bad_json")]


def test_the_last_line_needs_no_newline() -> None:
    assert taken(b"\n".join([GOOD] * 3)) == [1, 2, 3]
    assert rejected(GOOD + b"\n" + GOOD + b'\n{"scope":"s","id":"a3"') == [(3, "bad_json")]


def test_lines_end_at_newlines_and_nowhere_else() -> None:
    text = "a\u2028b\u2029c\u0085d\x1ce\u000bf"
    body = json.dumps({"scope": "s", "name": "n", "text": text}, ensure_ascii=False).encode()
    found = only(body)
    assert isinstance(found, NewEvent)
    assert found.text == text


def test_blank_lines_count_and_are_passed_by() -> None:
    body = b"\n  \n" + GOOD + b"\r\n\t\nbad\n\n"
    assert taken(body) == [3]
    assert rejected(body) == [(5, "bad_json")]
    assert list(read(b"")) == []


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "[1e400]", "1" * 5000])
def test_numbers_that_no_json_has_are_turned_down(value: str) -> None:
    assert rejected(b'{"scope":"s","name":"n","data":{"v":%s}}\n' % value.encode() + GOOD) == [
        (1, "bad_json")
    ]


@pytest.mark.parametrize(
    "value", ["1.10", "1e5", "-0", "12345678901234567890.12345678901234567890", "1E+2", "9" * 300]
)
def test_numbers_keep_their_digits(value: str) -> None:
    found = only(b'{"scope":"s","name":"n","data":{"v":%s}}' % value.encode())
    assert isinstance(found, NewEvent)
    assert found.data_json == b'{"v":%s}' % value.encode()


@pytest.mark.parametrize(
    "bad",
    [
        b'"text":"\xff\xfe"',
        b'"data":"\xff\xfe"',
        b'"data":{"\xed\xa0\x80":1}',
        b'"other":"\xff"',
        b'"\x80id":1',
    ],
)
def test_what_is_not_utf8_is_turned_down(bad: bytes) -> None:
    body = GOOD + b'\n{"scope":"s","name":"n",' + bad + b"}\n" + GOOD
    assert rejected(body) == [(2, "bad_utf8")]
    assert taken(body) == [1, 3]


@pytest.mark.parametrize(
    "bad", ['"text":"\\ud800"', '"data":["\\udc00\\ud800"]', '"data":{"\\ud800x":1}', '"x":"\\udfff"']
)
def test_half_a_surrogate_pair_is_turned_down(bad: str) -> None:
    assert rejected(b'{"scope":"s","name":"n",%s}' % bad.encode()) == [(1, "bad_json")]


def test_a_whole_surrogate_pair_is_a_character() -> None:
    found = only(b'{"scope":"s","name":"n","text":"\\ud83d\\ude00"}')
    assert isinstance(found, NewEvent)
    assert found.text == "\U0001f600"


@pytest.mark.parametrize("depth", [50, 64, 65, 900, 1100, 20_000, 200_000])
@pytest.mark.parametrize("closed", [True, False])
def test_nesting_has_one_limit(depth: int, closed: bool) -> None:
    data = b"[" * depth + (b"]" * depth if closed else b"")
    body = b'{"scope":"s","name":"n","data":' + data + b"}\n" + GOOD
    found = rejected(body)
    if closed and depth <= 64:
        assert found == []
    else:
        assert [line for line, _ in found] == [1]
        assert found[0][1] == ("bad_json" if depth <= 64 else "too_deep")
    assert taken(body)[-1] == 2


def test_brackets_in_a_string_are_no_nesting() -> None:
    assert taken(b'{"scope":"s","name":"n","text":"%s","data":"\\"%s"}' % (b"[" * 500, b"{" * 500)) == [1]


@pytest.mark.parametrize(
    "body",
    [
        b'{"scope":"s","name":"n","name":"m"}',
        b'{"scope":"s","scope":"s","name":"n"}',
        b'{"scope":"s","name":"n","n\\u0061me":"m"}',
        b'{"scope":"s","name":"n","data":{},"data":{"name":1}}',
    ],
)
def test_a_key_that_is_read_may_stand_there_once(body: bytes) -> None:
    assert rejected(body + b"\n" + GOOD) == [(1, "repeated_key")]


@pytest.mark.parametrize(
    "body",
    [
        b'{"scope":"s","name":"scope","id":"name","text":"data"}',
        b'{"scope":"s","name":"n","data":{"name":"x","scope":{"id":1}},"id":"a"}',
        b'{"scope":"s","name":"n","text":"say \\"name\\": \\"x\\""}',
        b'{"scope":"s","name":"n","data":{"x":1,"x":2}}',
    ],
)
def test_the_same_word_elsewhere_is_no_repeat(body: bytes) -> None:
    assert taken(body) == [1]


@pytest.mark.parametrize(
    ("at", "hint"),
    [
        ("1760570000", "in milliseconds it is 1760570000000"),
        ("1760570000.5", "in milliseconds it is 1760570000500"),
        ("1760570000123000", "in milliseconds it is 1760570000123"),
        ("1760570000123000000", "in milliseconds it is 1760570000123"),
        ("1760570000123.5", "1760570000123 would be right"),
        ('"1760570000123"', "a string, it must be a whole number"),
        ('"2026-11-30T14:00:00Z"', "a string, it must be a whole number"),
        ("true", "it must be a whole number"),
        ("0", "it must be a whole number"),
        ("-5", "it must be a whole number"),
        ("{}", "it must be a whole number"),
        ("1" * 400, "it must be a whole number"),
    ],
)
def test_at_must_look_like_milliseconds(at: str, hint: str) -> None:
    body = b'{"scope":"s","name":"n","at":%s}' % at.encode()
    assert rejected(body) == [(1, "bad_at")]
    assert hint in message(body)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[1]", "bad_line"),
        (b"null", "bad_line"),
        (b'"x"', "bad_line"),
        (b"{}", "bad_scope"),
        (b'{"scope":"","name":"n"}', "bad_scope"),
        (b'{"scope":1,"name":"n"}', "bad_scope"),
        (b'{"scope":"%s","name":"n"}' % (b"s" * 513), "bad_scope"),
        (b'{"scope":"s"}', "bad_name"),
        (b'{"scope":"s","name":"%s"}' % ("\u00e9" * 129).encode(), "bad_name"),
        (b'{"scope":"s","name":"n","id":7}', "bad_id"),
        (b'{"scope":"s","name":"n","id":"%s"}' % (b"i" * 513), "bad_id"),
        (b'{"scope":"s","name":"n","text":7}', "bad_text"),
        (b'{"scope":"s","flush":false}', "bad_line"),
        (b'{"scope":"s","flush":true,"end":true}', "bad_line"),
        (b'{"scope":"s","flush":true,"name":"n"}', "bad_line"),
        (b'{"scope":"s","end":true,"data":{"x":1}}', "bad_line"),
        (b'{"scope":"s","name":"n","Data":{"name":1}}', "unknown_key"),
        (b'{"scope":"s","flush":true,"endd":"x"}', "unknown_key"),
        (b'{"scope":"s","name":"n"} x', "bad_json"),
        (b"{'scope':'s'}", "bad_json"),
        (b'{"scope":"s","name":"a\x01b"}', "bad_json"),
        (b"x", "bad_json"),
    ],
)
def test_each_fault_has_its_code(body: bytes, code: str) -> None:
    assert rejected(body + b"\n" + GOOD) == [(1, code)]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b'{"scope":"s","name":"n","textt":"t"}', "there is no key 'textt'; did you mean text?"),
        (b'{"scope":"s","name":"n","Text":"t"}', "there is no key 'Text'; did you mean text?"),
        (GOOD + GOOD, "two JSON values are on one line; with curl send --data-binary"),
        (b"ERROR disk full", "the line is no JSON object; plain text goes as"),
        (b"2026-11-30 ERROR disk full", "the line is no JSON object; plain text goes as"),
        (b'{"scope":"s","name":}', "expecting value at character 21"),
        (b'{"scope":"s","name":"n', "unterminated string starting at character 21"),
    ],
)
def test_the_message_says_what_would_be_right(body: bytes, hint: str) -> None:
    assert hint in message(body)


def test_keys_that_nothing_reads_are_passed_over() -> None:
    body = b'{"scope":"s","name":"n","level":"high","date":"today","x":{"name":1,"name":2}}\n'
    assert taken(body + b'{"scope":"s","flush":true,"why":"x"}\n' + GOOD) == [1, 2, 3]
    assert rejected(b'{"scope":"s","name":"n","level":NaN}\n' + GOOD) == [(1, "bad_json")]


def test_a_line_with_an_unknown_key_is_listed_with_its_scope() -> None:
    assert [each.scope for each in read(b'{"scope":"s","nam":"n"}\n{"nam":"n"}\n{"scope":1,"nam":1}')] == [
        "s",
        None,
        None,
    ]


def test_the_longest_names_are_taken() -> None:
    assert taken(b'{"scope":"%s","id":"%s","name":"%s"}' % (b"s" * 512, b"i" * 512, b"n" * 256)) == [1]


def test_a_line_has_a_longest_length() -> None:
    body = b'{"scope":"s","name":"n","text":"%s"}\n' % (b"x" * 100) + GOOD
    assert rejected(body, max_line=100) == [(1, "line_too_long")]
    assert rejected(body, max_line=200) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(data=values, text=st.text() | st.none(), name=st.text(min_size=1, max_size=60), plain=st.booleans())
def test_whatever_json_holds_comes_back_equal(data: Any, text: str | None, name: str, plain: bool) -> None:
    body = json.dumps({"scope": "s", "name": name, "data": data, "text": text}, ensure_ascii=plain).encode()
    found = only(body)
    assert isinstance(found, NewEvent)
    assert (found.name, found.text) == (name, text)
    assert json.loads(found.data_json) == data


@given(st.lists(st.binary(max_size=40) | st.just(GOOD), max_size=8))
def test_no_bytes_break_it_and_good_lines_stay_good(parts: list[bytes]) -> None:
    lines = [line for part in parts for line in part.split(b"\n")]
    body = b"\n".join(lines)
    found = {each.number if isinstance(each, Line) else each.line: each for each in read(body)}
    body_lines = body.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(body_lines, 1):
        assert (number in found) == bool(line.strip())
        if line == GOOD:
            assert isinstance(found[number], Line)
