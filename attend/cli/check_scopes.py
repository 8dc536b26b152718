"""What `attend doctor` says of the scopes under a prefix: due entries without a scope, scopes without their due
entries, scopes that are lost or cannot be read.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct

from attend.cli.finding import Finding, note, ok, problem
from attend.cli.screen import one_line, span
from attend.core import codec
from attend.core.rules import Rules
from attend.core.state import OpenWindow, ScopeState
from attend.core.types import Lane
from attend.errors import StateFormatError, StoreCorruptError
from attend.rulebook import RuleBook
from attend.store.base import Loaded, Outcome, Write
from attend.store.inspect import Inspector
from attend.store.redis import RedisStore
from attend.stored import restore

MOST = 200_000
"""Scopes, and windows, that are looked at."""

LATE_MS = 5000
"""How long a due entry may have waited before somebody should have come for it."""

AGAIN = 0.5
"""Seconds before what looks wrong is looked at again: it may have been in the middle of a change."""

_CHUNK = 64


class Ill(StrEnum):
    """What can be wrong with a scope."""

    GHOST = "ghost"
    """It is on a list, and nothing is stored of it."""
    MISSING = "missing"
    """It should be due in a lane, and has no entry there."""
    UNLISTED = "unlisted"
    """It is not on the list of all scopes."""
    LOST = "lost"
    """Its parts do not fit together."""
    BAD = "bad"
    """A key of it holds another type."""
    UNREADABLE = "unreadable"
    """What is stored cannot be read."""


class Case(Struct, frozen=True):
    """A scope with what is wrong with it; `due` are the instants that its lanes should have."""

    scope: str
    ill: Ill
    version: str = ""
    due: dict[Lane, int] = {}


class Survey(Struct):
    """All scopes: what is wrong, and which windows their outboxes and dead letters refer to."""

    cases: list[Case] = []
    referred: set[str] = set()
    scopes: int = 0
    whole: bool = True
    late: dict[Lane, tuple[int, float]] = {}


class Scopes:
    """Surveys the scopes of one prefix, and repairs them."""

    def __init__(self, inspector: Inspector, store: RedisStore) -> None:
        self._inspector = inspector
        self._store = store
        self.book = RuleBook(store, Rules())
        self._can_restart = False

    async def survey(self) -> Survey:
        """Look at every scope; at what seems wrong, twice."""
        generation, digest = await self._inspector.rules()
        stored = None if digest is None else await self._store.rules(digest)
        if stored is not None:
            self.book = RuleBook(self._store, codec.decode_rules(stored))
            self.book.generation = generation
            self._can_restart = True
        keys = self._inspector.keys
        dues = {lane: await self._inspector.members(keys.due(lane), MOST) for lane in Lane}
        listed = await self._inspector.members(keys.scopes, MOST)
        names, whole = await self._inspector.names(MOST)
        names.update(listed, *dues.values())
        names.discard("")  # Readiness writes it and removes it again.
        found = Survey(scopes=len(names), whole=whole, late=await self._late(dues))
        seen = await self._look(sorted(names), dues, listed, found.referred)
        if seen:
            await asyncio.sleep(AGAIN)
            now = {
                (case.scope, case.ill): case
                for case in await self._again(sorted({case.scope for case in seen}), found)
            }
            found.cases = [now[case.scope, case.ill] for case in seen if (case.scope, case.ill) in now]
        return found

    async def _again(self, names: Sequence[str], found: Survey) -> list[Case]:
        """What is wrong with scopes for certain: those are left out that changed while they were looked at."""
        keys, cases = self._inspector.keys, list[Case]()
        for start in range(0, len(names), _CHUNK):
            some = names[start : start + _CHUNK]
            before = await self._store.load([(name, "") for name in some])
            dues = {lane: await self._inspector.scores(keys.due(lane), some) for lane in Lane}
            listed = await self._inspector.scores(keys.scopes, some)
            after = await self._store.load(
                [(name, known.version) for name, known in zip(some, before, strict=True)]
            )
            steady = {
                name: known
                for name, known, then in zip(some, before, after, strict=True)
                if (known.version, known.outcome) == (then.version, then.outcome)
            }
            cases += await self._judge(steady, dues, listed, found.referred)
        return cases

    async def _late(self, dues: Mapping[Lane, Mapping[str, float]]) -> dict[Lane, tuple[int, float]]:
        """For each lane how many scopes waited too long, and the longest wait in milliseconds."""
        now = await self._store.server_now()
        found: dict[Lane, tuple[int, float]] = {}
        for lane, members in dues.items():
            waits = [now - score for score in members.values() if now - score > LATE_MS]
            if waits:
                found[lane] = (len(waits), max(waits))
        return found

    async def _look(
        self,
        names: Sequence[str],
        dues: Mapping[Lane, Mapping[str, float]],
        listed: Collection[str],
        referred: set[str],
    ) -> list[Case]:
        cases: list[Case] = []
        for start in range(0, len(names), _CHUNK):
            some = names[start : start + _CHUNK]
            loaded = await self._store.load([(name, "") for name in some])
            cases += await self._judge(dict(zip(some, loaded, strict=True)), dues, listed, referred)
        return cases

    async def _judge(
        self,
        scopes: Mapping[str, Loaded],
        dues: Mapping[Lane, Mapping[str, float]],
        listed: Collection[str],
        referred: set[str],
    ) -> list[Case]:
        cases: list[Case] = []
        for scope, loaded in scopes.items():
            if loaded.outcome is Outcome.BAD:
                cases.append(Case(scope, Ill.BAD))
            elif loaded.outcome is Outcome.LOST:
                cases.append(Case(scope, Ill.LOST, loaded.version))
            elif not loaded.version:
                if scope in listed or any(scope in members for members in dues.values()):
                    cases.append(Case(scope, Ill.GHOST))
            else:
                try:
                    known = await restore(scope, None, loaded, self.book)
                except (StateFormatError, StoreCorruptError):
                    cases.append(Case(scope, Ill.UNREADABLE, loaded.version))
                    continue
                referred.update(parcel.id for parcel in known.state.outbox)
                referred.update(dead.window for dead in known.state.dead)
                lanes = (known.due.settle, known.due.deliver, known.due.bury)
                due = dict(zip(Lane, lanes, strict=True))
                missing = {lane: at for lane, at in due.items() if at is not None and scope not in dues[lane]}
                if missing:
                    cases.append(Case(scope, Ill.MISSING, loaded.version, missing))
                if scope not in listed:
                    cases.append(Case(scope, Ill.UNLISTED, loaded.version))
        return cases

    async def repair(self, cases: Sequence[Case]) -> bool:
        """Put right what is wrong; whether all of it could be. A scope that changed meanwhile is left alone."""
        now = await self._store.server_now()
        done = [await self._repair(case, now) for case in cases]
        for lane in Lane:
            await self._store.pass_on(lane)
        return all(done)

    async def _repair(self, case: Case, now: int) -> bool:
        match case.ill:
            case Ill.GHOST:
                return await self._store.remove(case.scope, "")
            case Ill.MISSING:
                for lane, at in case.due.items():
                    await self._inspector.set_due(lane, case.scope, at)
                return True
            case Ill.UNLISTED:
                await self._inspector.list_scope(case.scope, now)
                return True
            case Ill.LOST:
                return self._can_restart and await self._restart(case, now)
            case Ill.BAD | Ill.UNREADABLE:
                return False

    async def _restart(self, case: Case, now: int) -> bool:
        """A lost scope as it would begin again by itself: empty, with a gap, and no longer due."""
        state = ScopeState(
            scope=case.scope,
            generation=self.book.generation,
            digest=self.book.digest,
            now=now,
            open=OpenWindow(gap=True),
        )
        count = case.version.partition("-")[0]
        number = int(count) + 1 if count.isdecimal() else 1
        write = Write(
            scope=case.scope,
            expected=case.version,
            version=f"{number}-{secrets.token_hex(8)}",
            at=now,
            snapshot=codec.encode(state),
            due=dict.fromkeys(Lane),
            restart=True,
        )
        return await self._store.commit([write]) == [Outcome.OK]


_SAID: dict[Ill, tuple[str, str, str]] = {
    Ill.GHOST: ("due entries", "{n} without a scope: {names}", "--repair takes them out"),
    Ill.MISSING: (
        "due entries",
        "{n} missing, so that nobody comes for what waits there: {names}",
        "--repair puts them back",
    ),
    Ill.UNLISTED: (
        "scopes",
        "{n} not on the list of all, so that they are never forgotten: {names}",
        "--repair lists them",
    ),
    Ill.LOST: (
        "scopes",
        "{n} lost, as parts of what was stored of them are gone: {names}",
        "look for what deletes keys; they begin again with their next event or --repair, empty, marked with a gap",
    ),
    Ill.BAD: (
        "scopes",
        "{n} with a key of another type, which attend never wrote: {names}",
        "find who writes to keys that begin with attend:, and delete the keys of these scopes",
    ),
    Ill.UNREADABLE: (
        "scopes",
        "{n} cannot be read by this version: {names}",
        "use the newest attend that wrote here; if there is none, delete the keys of these scopes",
    ),
}


async def scope_findings(scopes: Scopes, found: Survey, *, repair: bool) -> list[Finding]:
    """What there is to say of the scopes, with repairs done where they were asked for."""
    findings: list[Finding] = []
    for ill, (check, text, advice) in _SAID.items():
        cases = [case for case in found.cases if case.ill is ill]
        if not cases:
            continue
        made = problem(check, text.format(n=len(cases), names=_names([case.scope for case in cases])), advice)
        if repair and await scopes.repair(cases):
            made = msgspec.structs.replace(made, repaired=True)
        findings.append(made)
    for lane, (count, longest) in found.late.items():
        findings.append(
            problem(
                "workers",
                f"{count} due in the {lane} lane and waiting, the longest for {span(int(longest))}",
                "nobody comes for them: start attend worker (or more of them), and look in its log",
            )
        )
    if not found.whole:
        findings.append(note("scopes", f"only the first {MOST} were looked at"))
    if not any(finding.check in ("scopes", "due entries") for finding in findings):
        findings.insert(0, ok("scopes", f"{found.scopes}, each whole and due where it should be"))
    return findings


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name)[:60] for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
