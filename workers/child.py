"""`python -m attend.workers.child`: makes one judge or sink call for a worker, and may die of it alone.

It says when it is ready, reads what it is asked from stdin, and writes the answer to stdout. It ends with its
worker: stdin stays open for as long as that lives.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from attend.app import Attend, from_settings
from attend.errors import PermanentError, is_down
from attend.settings import Settings
from attend.store.memory import MemoryStore
from attend.workers.message import LENGTH, READY, Answered, AskJudge, AskSink, Raised, framed, read_ask


def main() -> None:
    """Answer one question."""
    # What a judge prints must not end up among the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    sys.path.append(os.getcwd())
    app = from_settings(Settings.from_env(os.environ), MemoryStore())
    os.write(answers, READY)
    (length,) = LENGTH.unpack(_read(LENGTH.size))
    ask = read_ask(_read(length))
    threading.Thread(target=_follow, daemon=True).start()
    data = framed(asyncio.run(_answer(app, ask)))
    while data:
        data = data[os.write(answers, data) :]


async def _answer(app: Attend, ask: AskJudge | AskSink) -> Answered | Raised:
    try:
        if isinstance(ask, AskJudge):
            return Answered(await app.calls.judge(ask.input))
        if app.calls.sink is not None:
            await app.calls.sink.deliver(ask.decision)
        return Answered()
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, the worker is to hear of it
        after = getattr(error, "retry_after_ms", None)
        retry_after_ms = int(after) if isinstance(after, (int, float)) and after > 0 else 0
        message, permanent = str(error) or type(error).__name__, isinstance(error, PermanentError)
        return Raised(message, permanent, retry_after_ms, is_down(error))
    finally:
        await app.close()


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            raise SystemExit("the worker that started this process is gone")
        data += more
    return data


def _follow() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
