"""What holds of every body of lines, however odd: checked by properties and by the fuzzer alike."""

from __future__ import annotations

import json
from typing import Any

from attend.api.inbox import Inbox
from attend.api.ndjson import Command, Line, Rejection, read
from attend.core.event import NewEvent

MARK = b"\xef\xbb\xbf"
MAX_LINE = 4096
GOOD = b'{"scope":"s","id":"a","at":1760570000123,"name":"n","data":{"x":[1.50,"\xc3\xa9"]},"text":"t"}'

SEEDS = [
    GOOD,
    b'{"scope":"s","flush":true,"id":"f"}\n{"scope":"s","end":true}',
    b'{"scope":"s","name":"n","data":[[[{"a":1e5}]],-0,"\\ud83d\\ude00","\\u0000"]}\n\n' + GOOD,
    MARK + GOOD + b"\n" + MARK + GOOD,
    b'{"scope":"s","name":"n","data":NaN}\n{"scope":"s","name":"n","data":1e999}',
    b'{"scope":"s","name":"n","n\\u0061me":"m"}\n{"scope":"s" ,"name"\t:"n"}\r\n',
    b'{"scope":"s","name":"n","text":"\xff\xfe"}\n{"scope":"s","name":"n","text":"\\ud800"}',
    b'{"scope":"s","name":"n","data":' + b"[" * 70 + b"]" * 70 + b"}",
    b'{"at":1760570000,"name":"n","scope":"s"}\n{"at":"x","name":"n","scope":"s"}',
]


def _fate(found: Line | Rejection) -> tuple[Any, ...]:
    if isinstance(found, Line):
        return (found.scope, found.item)
    return (found.error, found.message, found.scope)


def _no(name: str) -> None:
    raise AssertionError(f"{name} was taken")


def check(body: bytes) -> None:
    """Raise `AssertionError` unless each line has one fate, the one it has by itself, and what is taken is sound."""
    lines = body.removeprefix(MARK).split(b"\n")
    found = {each.number if isinstance(each, Line) else each.line: each for each in read(body, MAX_LINE)}
    assert len(found) == len(list(read(body, MAX_LINE)))
    assert sorted(found) == [number for number, line in enumerate(lines, 1) if line.strip()]
    for number, each in found.items():
        line = lines[number - 1]
        [alone] = read(b"\n" + line, MAX_LINE)
        assert _fate(alone) == _fate(each), line
        if isinstance(each, Line):
            _sound(line, each)


def _sound(line: bytes, taken: Line) -> None:
    """What was taken is what Python's own reader finds in the line, and it can be written again."""
    value = json.loads(line.decode("utf-8", "strict"), parse_constant=_no)
    assert value["scope"] == taken.scope
    assert value.get("id") == taken.item.id
    if isinstance(taken.item, Command):
        assert value.get("end" if taken.item.end else "flush") is True
        return
    assert isinstance(taken.item, NewEvent)
    assert (value["name"], value.get("text")) == (taken.item.name, taken.item.text)
    assert json.loads(taken.item.data_json, parse_constant=_no) == value.get("data", {})
    json.dumps(value, ensure_ascii=False).encode("utf-8", "strict")


def check_cut(body: bytes, cuts: list[int]) -> None:
    """Raise `AssertionError` unless a stream that comes in these pieces is read as the whole body is."""
    inbox = Inbox(MAX_LINE)
    fates: list[tuple[Any, ...]] = []
    first = 1

    def take() -> None:
        nonlocal first
        lines, count = inbox.take()
        fates.extend(_numbered(each) for each in read(lines, MAX_LINE, first))
        first += count

    at = 0
    for cut in [*sorted(cuts), len(body)]:
        inbox.feed(body[at:cut])
        at = max(at, cut)
        take()
    inbox.finish()
    take()
    assert fates == [_numbered(each) for each in read(body, MAX_LINE)]
    assert inbox.size == 0


def _numbered(each: Line | Rejection) -> tuple[Any, ...]:
    return (each.number if isinstance(each, Line) else each.line, *_fate(each))
