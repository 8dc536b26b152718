"""`attend doctor`: looks a store over, says what is wrong and what to do, and repairs what can be repaired."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from attend.cli.check_scopes import Scopes, scope_findings
from attend.cli.check_server import commit_finding, is_too_old, link_findings, server_findings
from attend.cli.check_windows import Windows
from attend.cli.finding import Finding, note, problem, show
from attend.cli.flags import STORE, read
from attend.cli.folder import Folder, default_data
from attend.cli.screen import complain
from attend.errors import ConfigError, StoreCorruptError, StoreUnavailableError
from attend.option import without_password
from attend.store.inspect import Inspector
from attend.store.redis import RedisStore


def run_doctor(given: Mapping[str, Sequence[str]], *, repair: bool, as_json: bool) -> int:
    """Look a store over. The exit code: 0 all is well, 1 something is to be done, 3 it could not be reached."""
    values, places = read(STORE, given, os.environ)
    if "store" in values and "data" in values:
        flags = [name for name in ("store", "data") if places[name].startswith("--")]
        if len(flags) != 1:
            raise ConfigError(
                f"{places['data']} and {places['store']}: they name two stores; give one of them"
            )
        del values["data" if flags == ["store"] else "store"]
    if values.get("store") == "memory":
        raise ConfigError(
            f"{places['store']}: a store in memory keeps nothing that could be looked over; "
            "give the URL of a server, or leave it out for the one that attend serve brings"
        )
    logging.getLogger("attend.store").setLevel(logging.ERROR)  # What it warns of is said here.
    url = values.get("store") or _bundled(values.get("data"))
    try:
        return asyncio.run(_doctor(url, values.get("prefix", "default"), repair=repair, as_json=as_json))
    except KeyboardInterrupt:
        return 130


def _bundled(data: str | None) -> str:
    folder = (default_data(os.environ) if data is None else Path(data)) / "valkey"
    return "unix://" + quote(str(Folder(folder.resolve(), -1, temporary=False).socket))


async def _doctor(url: str, prefix: str, *, repair: bool, as_json: bool) -> int:
    inspector, store = Inspector(url, prefix), RedisStore(url, prefix=prefix)
    left = 0
    try:
        async for finding in _findings(url, prefix, inspector, store, repair=repair):
            show(finding, as_json=as_json)
            left += finding.is_open
    except StoreUnavailableError as error:
        complain(f"{without_password(url)}: {error}")
        if url.startswith("unix://"):
            complain("is attend serve running? Give --store or --data if it is another one than this")
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
