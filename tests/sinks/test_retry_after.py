"""Every form of Retry-After, and what is none."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from attend.retry_after import MOST_MS, retry_after_ms


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "0.25"}, 250),
        ({"retry-after": "1.0001"}, 1001),
        ({"retry-after": " 3 "}, 3000),
        ({"retry-after": "3600"}, 3_600_000),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "1e300"}, MOST_MS),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500"}, 1500),
        ({"retry-after-ms": "1500.2"}, 1501),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1500),
        ({"retry-after-ms": "garbage", "retry-after": "9"}, 9000),
        (
            {
                "date": "Mon, 30 Nov 2026 16:00:00 GMT",
                "retry-after": "Mon, 30 Nov 2026 16:00:07 GMT",
            },
            7000,
        ),
        (
            {
                "date": "Mon, 30 Nov 2026 16:00:09 GMT",
                "retry-after": "Mon, 30 Nov 2026 16:00:07 GMT",
            },
            0,
        ),
        ({"retry-after": "Mon, 99 Nov 2026 16:00:07 GMT"}, None),
    ],
)
def test_a_wait_is_read_in_each_form_and_never_rounded_down(headers: dict[str, str], ms: int | None) -> None:
    assert retry_after_ms(headers) == ms


def test_a_date_without_the_responses_own_is_measured_from_now() -> None:
    wait = retry_after_ms({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert wait is not None
    assert 60_000 < wait <= 100_000
