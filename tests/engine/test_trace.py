"""What is written to the log of what becomes of scopes."""

from __future__ import annotations

import logging

import pytest

from attend.core.trace import CallRetried, DeadLettered
from attend.core.types import Lane, Stage
from attend.trace import StoreBack, StoreLost, log_traces


def test_traces_are_logged_in_words_with_their_fields_as_pairs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "attend")
    log_traces(DeadLettered("ops/db", "dead-1", Stage.JUDGE, 'it said "no"\nand \x1b[31m left', 4))
    log_traces(StoreLost("Connection refused"))
    log_traces(StoreBack(1200))
    log_traces(CallRetried("größe", Lane.SETTLE, "w", "", 5, lost=True))
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (
            "WARNING",
            "a dead letter: no judge or sink could take it, see attend dead: scope=ops/db letter=dead-1 stage=judge message="
            + r'"it said \"no\"\nand \u001b[31m left" starts=4',
        ),
        ("WARNING", 'the store does not answer: message="Connection refused"'),
        ("INFO", "the store answers again: lost_ms=1200"),
        (
            "DEBUG",
            'call retried: scope=größe lane=settle id=w message="" due_at=5 lost=True',
        ),
    ]
