"""Which writes are refused when they are made."""

from __future__ import annotations

import pytest

from attend.store.base import Write
from attend.testing.making import AT


@pytest.mark.parametrize(
    "fields",
    [
        {"version": "1"},
        {"version": "x-1"},
        {"version": "1-a b"},
        {"version": "3-a"},
        {"entry": None},
        {"snapshot": b"", "entry": b""},
        {"restart": True},
    ],
)
def test_a_write_that_no_store_could_keep_is_refused(fields: dict[str, object]) -> None:
    made: dict[str, object] = {
        "scope": "a",
        "expected": "",
        "version": "1-a",
        "at": AT,
        "entry": b"",
        **fields,
    }
    with pytest.raises(ValueError, match=r"version is|a write"):
        Write(**made)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
