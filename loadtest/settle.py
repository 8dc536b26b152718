"""From a window's deadline to its judge call, on a fleet that has nothing else to do."""

from __future__ import annotations

from pathlib import Path

from attend import Attend, RedisStore
from loadtest.pace import steadily, until
from loadtest.probe import HANGING, nowhere
from loadtest.report import Latency
from loadtest.stage import Stage

KIND = {"task.ended": "closing"}
GRACE_MS = 500
PER_SECOND = 25
HUNG = 10
_WARM_UP = 5


async def settle_lag(stage: Stage, count: int, *, behind_sinks: bool = False) -> Latency:
    """Milliseconds from a deadline until the judge is called, windows one by one in scopes of their own.

    `behind_sinks`: while ten deliveries of the same worker hang.
    """
    prefix = "behind" if behind_sinks else "idle"
    calls = stage.folder / f"{prefix}.calls"
    worker = await stage.start(
        *("-m", "attend", "worker", "--store", stage.url, "--prefix", prefix),
        *("--kinds", '{"task.ended":"closing"}', "--settle", f"closing_grace_ms={GRACE_MS}"),
        *("--judge", "loadtest.probe:judge"),
        *(("--sink", "loadtest.probe:deliver") if behind_sinks else ()),
        environ={"LOADTEST_CALLS": str(calls)},
    )
    # The same rules as the worker's, whether there is a sink among them too.
    async with Attend(
        store=RedisStore(stage.url, prefix=prefix),
        kind=KIND,
        settle={"closing_grace_ms": GRACE_MS},
        sink=nowhere if behind_sinks else None,
    ) as app:

        async def push(scope: str) -> None:
            await app.push(scope, [{"name": "task.ended", "text": "12 passed"}])

        if behind_sinks:
            for n in range(HUNG):
                await push(f"{HANGING}{n}")
            await until(lambda: len(_lines(calls, "hanging")) >= HUNG)
        async for n in steadily(count + _WARM_UP, PER_SECOND):
            await push(f"lag/{n}")
        wanted = {f"lag/{n}" for n in range(_WARM_UP, count + _WARM_UP)}
        await until(lambda: wanted <= {scope for scope, *_ in _lines(calls, "judged")})
    await stage.stop(worker)
    found: dict[str, float] = {}
    for scope, now, accepted_at in _lines(calls, "judged"):
        found.setdefault(scope, float(now) - int(accepted_at) - GRACE_MS)
    return Latency.of([found[scope] for scope in wanted])


def _lines(calls: Path, kind: str) -> list[list[str]]:
    if not calls.exists():
        return []
    words = [line.split() for line in calls.read_text(encoding="utf-8").splitlines()]
    return [rest for word, *rest in words if word == kind]
