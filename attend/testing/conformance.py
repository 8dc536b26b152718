"""The suites that every store passes, for adapters of others: named async cases that any test runner can run.

    for case in scope_store_conformance(make):
        test(case.name, case.run)

`make` returns a fresh, empty store each time, not opened yet: for a database, one with a key prefix of its own. A
case opens and closes it.
"""

from __future__ import annotations

from attend.testing import commits, dues, feeds, letters, logs, records, subscribers, windows
from attend.testing.suite import Case, MakeStore, joined


def scope_store_conformance(make: MakeStore) -> list[Case]:
    """What a `ScopeStore` guarantees of commits, dues, claims, sleeping, windows, letters, news, records, subscriptions."""
    about_scopes = (commits.suite, dues.suite, windows.suite, letters.suite)
    return joined((*about_scopes, feeds.suite, records.suite, subscribers.suite), make)


def decision_log_conformance(make: MakeStore) -> list[Case]:
    """What the `log` of a `ScopeStore` guarantees: a dense order, positions that are never silently skipped, trim."""
    return logs.suite.cases(make)
