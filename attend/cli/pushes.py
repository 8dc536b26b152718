"""News on its way into a session: asked for, pushed in order, and pushed again until it is said to be seen.

That a message was written says nothing of whether it was read. So only what the session says it has seen moves the
mark in the file, and what it has not comes up again, later in this session or after a restart.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from attend.cli.seen import Mark, SeenFile
from attend.client.answer import Backoff
from attend.core.plain import is_plain
from attend.core.saying import fits
from attend.errors import AnswerError, UnreachableError

WAIT_SECONDS = 15
MOST_UNSEEN = 1000
"""How much that nobody has seen is kept to be pushed again; the oldest waits for a restart."""
REMEMBERED = 4096
WRITE_SECONDS = 60
"""How often the file follows the feed at most, where nothing was pushed."""
MOST_META = 200

UNFIT = "Something needs attention. Use list_attention to read more."
"""What is pushed in place of a message that is not made as it should be."""
GONE = "Older news is gone already. Use list_attention to see what is open now."

_META = {
    "news": "news",
    "alert": "alert",
    "change": "change",
    "scope": "scope",
    "subject": "subject",
    "name": "name",
    "code": "code",
    "condition": "condition",
    "eventId": "event_id",
}

Ask = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
Send = Callable[[str, dict[str, str]], Awaitable[None]]


class _Push(Struct):
    content: str
    meta: dict[str, str]
    cursor: str | None
    opened: bool
    sent_at: float = 0.0
    times: int = 0


class Pushes:
    """Asks with `ask`, which takes the arguments of `list_attention`, and pushes with `send`.

    What is not seen is pushed again after `again_seconds`, `again_times` times.
    """

    def __init__(
        self,
        ask: Ask,
        send: Send,
        file: SeenFile,
        *,
        again_seconds: float = 300,
        again_times: int = 3,
        say: Callable[[str], object],
    ) -> None:
        self._ask = ask
        self._send = send
        self._file = file
        self._again_seconds = again_seconds
        self._again_times = again_times
        self._say = say
        self._mark = Mark()
        self._reached: str | None = None
        self._written_at = 0.0
        self._unseen: OrderedDict[str, _Push] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()
        self._backoff = Backoff()
        self._away = ""

    async def run(self) -> None:
        """Go on until cancelled. Raises `OSError` where nobody takes what is pushed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._hear())
            tasks.create_task(self._repeat())

    def seen(self, id: str) -> int | None:
        """This one was seen, and all that were pushed before it; how many those are, None where it is unknown."""
        if id not in self._unseen:
            return 0 if id in self._told else None
        count = 0
        while self._unseen:
            each, push = self._unseen.popitem(last=False)
            count += 1
            if push.cursor is not None:
                self._mark.cursor = push.cursor
            if each == id:
                break
        if not any(push.opened for push in self._unseen.values()):
            self._mark.greeted = True
        if not self._unseen and self._reached is not None:
            self._mark.cursor = self._reached
        self._write()
        return count

    async def _hear(self) -> None:
        self._mark = self._file.read()
        if self._mark.cursor is None or not self._mark.greeted:
            answer = await self._asked({})
            if self._mark.cursor is None:
                self._mark.cursor = answer["cursor"]
            for item in answer.get("open") or ():
                await self._push(item, opened=True)
            self._mark.greeted = not self._unseen
            self._write()
        cursor = self._mark.cursor
        time = asyncio.get_running_loop().time
        while True:
            began = time()
            answer = await self._asked({"since": cursor, "waitSeconds": WAIT_SECONDS})
            if answer.get("truncated"):
                await self._push({"id": f"gone-{answer['cursor'][-24:]}", "message": GONE, "news": "gap"})
            for item in answer["news"]:
                await self._push(item)
            self._reached = cursor = answer["cursor"]
            if not self._unseen:
                self._mark.cursor = cursor
                if time() - self._written_at > WRITE_SECONDS:
                    self._write()
            if not answer["news"] and not answer.get("hasMore") and time() - began < 1:
                await asyncio.sleep(1)  # A server that stops answers at once.

    async def _asked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, however long that takes."""
        while True:
            try:
                answer = _checked(await self._ask(arguments))
            except (UnreachableError, AnswerError) as error:
                if self._away != str(error):
                    self._say(f"{error}; trying again")
                self._away = str(error)
                await asyncio.sleep(self._backoff.pause())
            else:
                if self._away:
                    self._say("connected again")
                self._away = ""
                self._backoff.reset()
                return answer

    async def _push(self, item: Mapping[str, Any], *, opened: bool = False) -> None:
        id = item.get("id")
        if not isinstance(id, str) or not _is_safe(id) or id in self._told:
            return
        self._told[id] = None
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        message = item.get("message")
        content = message if isinstance(message, str) and fits(message) else UNFIT
        meta = {"id": id}
        for key, name in _META.items():
            value = item.get(key)
            if isinstance(value, str) and _is_safe(value):
                meta[name] = value
        if isinstance(item.get("at"), int):
            meta["at"] = str(item["at"])
        cursor = item.get("cursor")
        push = _Push(content, meta, cursor if isinstance(cursor, str) else None, opened)
        self._unseen[id] = push
        if len(self._unseen) > MOST_UNSEEN:
            self._unseen.popitem(last=False)
        await self._out(push)

    async def _out(self, push: _Push) -> None:
        push.times += 1
        push.sent_at = asyncio.get_running_loop().time()
        await self._send(
            push.content, {**push.meta, **({"again": str(push.times)} if push.times > 1 else {})}
        )

    async def _repeat(self) -> None:
        time = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(max(0.05, min(1.0, self._again_seconds / 4)))
            for id, push in list(self._unseen.items()):
                due = time() - push.sent_at >= self._again_seconds and push.times <= self._again_times
                if due and id in self._unseen:
                    await self._out(push)

    def _write(self) -> None:
        self._file.write(self._mark)
        self._written_at = asyncio.get_running_loop().time()


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of `list_attention`. Raises `AnswerError` where it is none."""
    content: Any = answer.get("structuredContent")
    if answer.get("isError") or not isinstance(content, dict):
        said: Any = answer.get("content") or [{}]
        text = said[0].get("text") if isinstance(said[0], dict) else None
        raise UnreachableError(f"the server said: {str(text or 'nothing that can be read')[:200]}")
    found = cast("dict[str, Any]", content)
    if not isinstance(found.get("cursor"), str) or not isinstance(found.get("news"), list):
        raise AnswerError(200, "", "it answered what no attend answers")
    return found


def _is_safe(value: str) -> bool:
    return 0 < len(value) <= MOST_META and all(is_plain(character) or character == "~" for character in value)
