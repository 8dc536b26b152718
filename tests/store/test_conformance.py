"""Every store keeps what the conformance suites of `attend.testing` ask of one."""

from __future__ import annotations

import pytest

from attend.store.base import ScopeStore
from attend.store.memory import MemoryStore
from attend.testing import decision_log_conformance, scope_store_conformance

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", [case.name for case in scope_store_conformance(MemoryStore)])
async def test_a_store_keeps_scopes(name: str, store: ScopeStore) -> None:
    [case] = [case for case in scope_store_conformance(lambda: store) if case.name == name]
    await case.run()


@pytest.mark.parametrize("name", [case.name for case in decision_log_conformance(MemoryStore)])
async def test_a_store_keeps_the_log(name: str, store: ScopeStore) -> None:
    [case] = [case for case in decision_log_conformance(lambda: store) if case.name == name]
    await case.run()
