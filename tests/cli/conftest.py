"""A running serve for the tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.service import Service
from tests.servers import bundled_binary

KINDS = '{"user.said":"flush","build.*":"closing","look":"passive"}'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running serve, which the tests share; each has scopes of its own."""
    bundled_binary()
    log = tmp_path_factory.mktemp("serve") / "log"
    flags = ("--store", "memory", "--port", "0", "--kinds", KINDS, "--settle", "passive_quiet_ms=50000")
    service = Service("serve", *flags, log=log)
    yield service.wait_ready().url
    service.kill()
