"""What `attend doctor` says of a server: version, persistence, memory, clock, latency, a commit."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Iterator

from attend.cli.finding import Finding, note, ok, problem
from attend.core.types import Lane
from attend.errors import AttendError
from attend.store.base import Outcome, Row, Write
from attend.store.inspect import Inspector, ServerFacts
from attend.store.redis import RedisStore

MET = {("Valkey", "9.1"), ("Redis", "7.0")}
"""Servers that the tests meet."""

OLDEST = {"Redis": (6, 2), "Valkey": (7, 2)}
SLOW_MS = 20
"""A round trip past which every commit is slow."""

CLOCK_MS = 5000
"""A difference of clocks past which times of the two are hard to read side by side."""

MIB = 1024 * 1024


def server_findings(facts: ServerFacts) -> Iterator[Finding]:
    """What there is to say of the server itself."""
    yield _version(facts)
    if facts.role != "master":
        yield problem(
            "role", f"it is a {facts.role}: it takes no writes", "give the address of the primary as --store"
        )
    if facts.cluster:
        yield problem(
            "cluster",
            "it is a node of a cluster, and attend is made for one server or a failover pair",
            "use a server that is no cluster",
        )
    yield from _persistence(facts)
    yield _policy(facts)
    yield _memory(facts)


def is_too_old(facts: ServerFacts) -> bool:
    """Whether it lacks commands that attend needs."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", facts.version)[:2])
    return bool(numbers) and numbers < OLDEST[facts.product]


def _version(facts: ServerFacts) -> Finding:
    name = f"{facts.product} {facts.version}"
    if is_too_old(facts):
        return problem(
            "version",
            f"{name} is too old",
            "use Redis 6.2 or later, Valkey 7.2 or later, or the bundled server",
        )
    if (facts.product, ".".join(facts.version.split(".")[:2])) in MET:
        return ok("version", f"{name}, which attend is tested with")
    return note("version", f"{name} has the commands it takes, but attend is not tested with it")


def _persistence(facts: ServerFacts) -> Iterator[Finding]:
    if not facts.writes_ok:
        yield problem(
            "persistence",
            "its last write to disk failed",
            "look in its log, and at the space left on its disk; until then a restart loses data",
        )
    if not facts.aof:
        kept = "only snapshots are kept" if facts.save else "nothing is kept on disk"
        lost = "everything since the last one" if facts.save else "everything"
        if facts.save is None:
            kept, lost = "there is no append-only file", "everything since the last snapshot, if any is made"
        yield problem(
            "persistence",
            f"{kept}: a crash of the server loses {lost}",
            "CONFIG SET appendonly yes, and the same in its configuration file; or live with it",
        )
        return
    loses = {
        "always": "nothing, whether the server or the machine goes down",
        "everysec": "nothing if the server goes down, about the last second if the machine does",
        "no": "nothing if the server goes down, what the system had not written yet if the machine does",
    }.get(facts.fsync or "", "what its appendfsync setting, which it does not tell, allows")
    text = f"append-only file, appendfsync {facts.fsync or 'unknown'}: it loses {loses}"
    if facts.fsync == "no":
        yield problem(
            "persistence", text, "CONFIG SET appendfsync everysec, and the same in its configuration file"
        )
    else:
        yield ok("persistence", text)


def _policy(facts: ServerFacts) -> Finding:
    if facts.policy.startswith("allkeys"):
        return problem(
            "eviction",
            f"maxmemory-policy is {facts.policy}: when it is full it throws away scopes and decisions",
            "CONFIG SET maxmemory-policy noeviction, and the same in its configuration file; "
            "a cache needs a server of its own",
        )
    if facts.policy != "noeviction":
        return note(
            "eviction", f"maxmemory-policy is {facts.policy}: it evicts no key of attend, as none expires"
        )
    return ok("eviction", "maxmemory-policy is noeviction: a full server refuses writes and loses nothing")


def _memory(facts: ServerFacts) -> Finding:
    used = f"{facts.used_memory / MIB:.1f} MiB in use"
    if not facts.max_memory:
        return ok("memory", f"{used}, maxmemory is not set")
    text = f"{used} of maxmemory {facts.max_memory / MIB:.1f} MiB"
    if facts.used_memory > 0.9 * facts.max_memory:
        return problem(
            "memory",
            f"{text}: it is about to refuse writes",
            "raise maxmemory, or keep less: --retain, --forget-ms",
        )
    return ok("memory", text)


async def link_findings(inspector: Inspector) -> list[Finding]:
    """The clock and the way there."""
    offset, margin, trips = await inspector.clock()
    far = f"the server's clock is {abs(offset):.0f} ms {'ahead' if offset > 0 else 'behind'} (give or take {margin:.1f} ms)"
    found: list[Finding] = []
    if abs(offset) > CLOCK_MS:
        found.append(
            problem(
                "clock",
                f"{far}; attend goes by the server's, so windows settle as they should, but logs will not match",
                "set both machines' clocks by NTP",
            )
        )
    else:
        found.append(ok("clock", far))
    middle = trips[len(trips) // 2]
    text = f"a round trip takes {middle:.1f} ms, {trips[-1]:.1f} ms at worst of {len(trips)}"
    if middle > SLOW_MS:
        advice = "put attend nearer to its server, or look at the server's load (SLOWLOG GET): each commit is a round trip"
        found.append(problem("latency", text, advice))
    else:
        found.append(ok("latency", text))
    return found


async def commit_finding(url: str, prefix: str) -> Finding:
    """A real commit, under a prefix of its own that is gone afterwards."""
    scratch = f"{prefix[:60]}.doctor.{secrets.token_hex(6)}"
    store, inspector = RedisStore(url, prefix=scratch), Inspector(url, scratch)
    scope, window = "doctor", "doctor"
    try:
        await store.open()
        now = await store.server_now()
        write = Write(
            scope=scope,
            expected="",
            version=f"1-{secrets.token_hex(8)}",
            at=now,
            snapshot=b"a",
            due={Lane.SETTLE: now},
            rows=(Row(window, b"b", b"c", held=False),),
        )
        began = time.perf_counter()
        [outcome] = await store.commit([write])
        took = (time.perf_counter() - began) * 1000
        [loaded] = await store.load([(scope, "")])
        claimed = await store.claim(Lane.SETTLE, now, 1, now + 1000)
        kept = await store.window(window)
        came_back = loaded.snapshot == b"a" and claimed.scopes == (scope,) and kept is not None
    except AttendError as error:
        return problem("commit", f"a commit failed: {error}", "put that right; until then nothing is taken")
    finally:
        with contextlib.suppress(AttendError):
            await inspector.clear(scope, window)
        await store.close()
        await inspector.close()
    if outcome is not Outcome.OK or not came_back:
        text = f"a commit ended as {outcome} and {'came' if came_back else 'did not come'} back"
        return problem("commit", text, "the server does not do what Redis does; use another")
    return ok("commit", f"committed, read back, claimed and removed again; the commit took {took:.1f} ms")
