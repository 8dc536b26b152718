"""`attend doctor`: looks a store over, says what is wrong and what to do, and repairs what can be repaired."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence

from attend.cli.check_scopes import Scopes, scope_findings
from attend.cli.check_server import commit_finding, is_too_old, link_findings, server_findings
from attend.cli.check_windows import Windows
from attend.cli.finding import Finding, note, problem, show
from attend.cli.place import Place, place_of
from attend.errors import StoreCorruptError, StoreUnavailableError
from attend.store.inspect import Inspector
from attend.store.redis import RedisStore


def run_doctor(given: Mapping[str, Sequence[str]], *, repair: bool, as_json: bool) -> int:
    """Look a store over. The exit code: 0 all is well, 1 something is to be done, 3 it could not be reached."""
    place = place_of(given, os.environ)
    logging.getLogger("attend.store").setLevel(logging.ERROR)  # What it warns of is said here.
    try:
        return asyncio.run(_doctor(place, repair=repair, as_json=as_json))
    except KeyboardInterrupt:
        return 130


async def _doctor(place: Place, *, repair: bool, as_json: bool) -> int:
    url, prefix = place.url, place.prefix
    inspector, store = Inspector(url, prefix), RedisStore(url, prefix=prefix)
    left = 0
    try:
        async for finding in _findings(url, prefix, inspector, store, repair=repair):
            show(finding, as_json=as_json)
            left += finding.is_open
    except StoreUnavailableError as error:
        place.complain(error)
        return 3
    finally:
        await inspector.close()
        await store.close()
    return 1 if left else 0


async def _findings(
    url: str, prefix: str, inspector: Inspector, store: RedisStore, *, repair: bool
) -> AsyncGenerator[Finding]:
    facts = await inspector.facts()
    for finding in server_findings(facts):
        yield finding
    for finding in await link_findings(inspector):
        yield finding
    if is_too_old(facts) or facts.role != "master":
        return
    yield await commit_finding(url, prefix)
    try:
        scopes = Scopes(inspector, store)
        found = await scopes.survey()
        if not found.scopes:
            yield note(
                "scopes", f"nothing is stored under the prefix {prefix!r}; see --prefix if that is a surprise"
            )
        else:
            for finding in await scope_findings(scopes, found, repair=repair):
                yield finding
        for finding in await Windows(inspector, store, scopes.book, found).findings(repair=repair):
            yield finding
    except StoreCorruptError as error:
        yield problem(
            "keys", str(error), "find who writes to keys that begin with attend:, and delete that key"
        )
