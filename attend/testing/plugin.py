"""The pytest plugin: fixtures for tests that use attend. Nothing of attend is loaded until one of them is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from attend.testing import FakeClock, RecordingSink, Trial


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock that stands still until the test moves it; `attend_trial` runs on the same one."""
    from attend.testing import fake_clock

    return fake_clock()


@pytest.fixture
def recording_sink() -> RecordingSink:
    """A sink that remembers what it was given."""
    from attend.testing import recording_sink

    return recording_sink()


@pytest.fixture
def attend_trial(fake_clock: FakeClock) -> Callable[..., AbstractAsyncContextManager[Trial]]:
    """`async with attend_trial([answers], kind=..., settle=...) as t`: an attend that runs on `fake_clock`."""
    from attend.testing import trial

    def begin(*answers: Any, **options: Any) -> AbstractAsyncContextManager[Trial]:
        return trial(*answers, **{"clock": fake_clock, **options})

    return begin
