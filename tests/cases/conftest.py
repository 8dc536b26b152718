"""What the cases share: a running serve."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rig.service import Service
from tests.servers import bundled_binary

KINDS = '{"say":"flush","closing":"closing","continuous":"continuous"}'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running serve that a module's tests share; each has scopes of its own."""
    bundled_binary()
    log = tmp_path_factory.mktemp("serve") / "log"
    service = Service("serve", "--store", "memory", "--port", "0", "--kinds", KINDS, log=log)
    yield service.wait_ready().url
    assert service.stop() == 0
    assert "Traceback" not in log.read_text()
