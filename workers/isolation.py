"""Calls in a process of their own, for windows that lost their worker before."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator

from attend.call import CallLostError
from attend.core.types import Decision, Judgment
from attend.errors import JudgeRejectedError, PermanentError
from attend.judges.base import JudgeInput
from attend.settings import Settings
from attend.workers.message import LENGTH, READY, Answered, AskJudge, AskSink, Raised, framed, read_answer


class ChildError(Exception):
    """What a judge or sink raised in the child, in words. `retry_after_ms` as the original had it."""

    def __init__(self, message: str, retry_after_ms: int) -> None:
        self.retry_after_ms = retry_after_ms
        super().__init__(message)


class ChildProcesses:
    """Starts a child for each call, from the same settings as this process has."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def judge(self, input: JudgeInput, timeout_ms: int) -> Judgment:
        """Ask the judge. Raises `CallLostError` where the child died, `TimeoutError`, and what the judge raised."""
        async with self._child() as child:
            answer = await _ask(child, AskJudge(input), timeout_ms)
        if answer.judgment is None:
            raise ChildError("the judge's answer did not come along", 0)
        return answer.judgment

    async def deliver(self, decision: Decision) -> None:
        """Hand the decision to the sink. Raises `CallLostError` where the child died, and what the sink raised."""
        async with self._child() as child:
            await _ask(child, AskSink(decision), None)

    @contextlib.asynccontextmanager
    async def _child(self) -> AsyncGenerator[Process]:
        # -P: the working folder comes last on the path, so no file in it stands in for a library.
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "attend.workers.child"),
            stdin=PIPE,
            stdout=PIPE,
            env=self._settings.child_env(os.environ),
            start_new_session=True,
        )
        try:
            yield child
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
            # The pipe's transport is only done with once its end was read.
            if child.stdout is not None:
                await child.stdout.read()


async def _ask(child: Process, ask: AskJudge | AskSink, timeout_ms: int | None) -> Answered:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        ready = await child.stdout.readexactly(len(READY))
        if ready != READY:
            raise CallLostError("the child process said something else than that it is ready")
        timeout = asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000)
        try:
            async with timeout:
                child.stdin.write(framed(ask))
                await child.stdin.drain()
                (length,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
                answer = read_answer(await child.stdout.readexactly(length))
        except TimeoutError as error:
            raise TimeoutError(f"the call did not end within {timeout_ms} ms") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        code = await child.wait()
        raise CallLostError(f"the child process that made the call ended with code {code}") from error
    if isinstance(answer, Raised):
        if answer.down:
            raise JudgeRejectedError(answer.message)
        if answer.permanent:
            raise PermanentError(answer.message)
        raise ChildError(answer.message, answer.retry_after_ms)
    return answer
