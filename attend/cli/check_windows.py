"""What `attend doctor` says of the log and the stored windows: those nobody refers to, and rows without theirs."""

from __future__ import annotations

import asyncio

import msgspec

from attend.cli.check_scopes import AGAIN, MOST, Ill, Survey
from attend.cli.finding import Finding, note, ok, problem
from attend.core.codec import decode_window
from attend.errors import StateFormatError
from attend.rulebook import RuleBook
from attend.store.inspect import Inspector, LogFacts, WindowFacts
from attend.store.redis import RedisStore
from attend.stored import restore


class Windows:
    """Looks at the stored windows of one prefix, against what the scopes refer to."""

    def __init__(self, inspector: Inspector, store: RedisStore, book: RuleBook, found: Survey) -> None:
        self._inspector = inspector
        self._store = store
        self._book = book
        self._referred = found.referred
        # A scope that was not read may refer to any window of its own.
        self._whole = found.whole
        self._unread = {case.scope for case in found.cases if case.ill in (Ill.BAD, Ill.UNREADABLE)}

    async def findings(self, *, repair: bool) -> list[Finding]:
        """What there is to say, with repairs done where they were asked for."""
        before = await self._inspector.log()
        stray: list[WindowFacts] = []
        held: list[WindowFacts] = []
        count = kept = 0
        async for page in self._inspector.windows():
            count += len(page)
            for window in page:
                if window.n is not None and before.trimmed < window.n <= before.n:
                    kept += 1
                if window.held and window.id not in self._referred:
                    held.append(window)
                elif not window.held and not _may_be_logged(window, before):
                    stray.append(window)
            if count > MOST:
                break
        if stray or held:
            await asyncio.sleep(AGAIN)
        # What a lane or a trim does to a window it does in one step: what is still as it was, once nothing refers to
        # it, is not in the middle of that.
        stray = [window for window in stray if not await self._in_log(window)]
        stray = [window for window in await self._again(stray) if not window.held]
        held = [window for window in held if await self._is_let_go(window)]
        held = [window for window in await self._again(held) if window.held]
        found = await self._say(stray, held, repair=repair)
        after = await self._inspector.log()
        missing = before.rows - kept
        if missing > 0 and count <= MOST and after.trimmed == before.trimmed:
            found.append(
                problem(
                    "windows",
                    f"{missing} of {before.rows} logged decisions have lost their window: their events cannot be read",
                    "look for what deletes keys (eviction, expiry); their notices are still in the log",
                )
            )
        if count > MOST:
            found.append(note("windows", f"only the first {MOST} were looked at"))
        if not found:
            found.append(ok("windows", f"{count}, each referred to; {before.rows} decisions in the log"))
        return found

    async def _say(self, stray: list[WindowFacts], held: list[WindowFacts], *, repair: bool) -> list[Finding]:
        found: list[Finding] = []
        if stray:
            text = f"{len(stray)} that neither the log nor a scope refers to, which only take up space"
            found.append(problem("windows", text, "--repair deletes them"))
        if held:
            text = (
                f"{len(held)} kept for an outbox or a dead letter that is gone: a sink may never have heard of them, "
                "and trimming passes them over"
            )
            found.append(problem("windows", text, "--repair lets go of them"))
        if repair:
            for window in (*stray, *held):
                await self._inspector.drop_window(window, in_log=await self._in_log(window))
            found = [msgspec.structs.replace(finding, repaired=True) for finding in found]
        return found

    async def _again(self, windows: list[WindowFacts]) -> list[WindowFacts]:
        return await self._inspector.windows_of([window.id for window in windows])

    async def _in_log(self, window: WindowFacts) -> bool:
        return window.row is not None and await self._inspector.has_row(window.row)

    async def _is_let_go(self, window: WindowFacts) -> bool:
        """Whether its scope, as it is now, does not refer to it."""
        stored = await self._store.window(window.id)
        if stored is None or not self._whole:
            return False
        try:
            scope = decode_window(stored.window).scope
            if scope in self._unread:
                return False
            [loaded] = await self._store.load([(scope, "")])
            state = (await restore(scope, None, loaded, self._book)).state
        except StateFormatError:
            return False
        return all(parcel.id != window.id for parcel in state.outbox) and all(
            dead.window != window.id for dead in state.dead
        )


def _may_be_logged(window: WindowFacts, log: LogFacts) -> bool:
    """Whether the log can have its row, by its number; a row of a number it has is looked for when in doubt."""
    return window.n is not None and window.n > log.trimmed and log.rows > 0
