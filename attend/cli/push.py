"""`attend push`: files of lines, or a pipe, sent to a server until every line was taken or turned down."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from attend.cli.flags import PUSH, read
from attend.cli.lines import FileLine, Files
from attend.cli.remote import client_of
from attend.cli.screen import complain
from attend.cli.tally import Tally
from attend.client import Client, IngestReply
from attend.errors import AnswerError, ConfigError, UnreachableError

BODY_BYTES = 1024 * 1024
STREAM_LINES = 500
"""Lines that are read at once for a stream, which takes each as it comes."""


def run_push(names: Sequence[str], given: Mapping[str, Sequence[str]], *, stream: bool = False) -> int:
    """Push, and return the exit code: 0 all taken, 1 some rejected, 3 the server could not be reached."""
    values, _ = read(PUSH, given, {})
    client = client_of(given, os.environ, patience=values.get("retry_for", 60))
    if stream and "body_lines" in values:
        raise ConfigError("--body-lines: a stream has no bodies; leave it out, or leave --stream out")
    if not names:
        raise ConfigError("give a FILE to push, or - for stdin")
    files = Files(names)
    with Tally(files.size) as tally:
        try:
            lines = None if stream else values.get("body_lines", 500)
            code = asyncio.run(_push(client, files, tally, lines))
        except KeyboardInterrupt:
            complain("stopped before the end")
            code = 130
    print(tally.summary(), flush=True)
    return code


async def _push(client: Client, files: Files, tally: Tally, body_lines: int | None) -> int:
    async with client:
        try:
            if body_lines is None:
                await in_stream(client, files, tally)
            else:
                await in_bodies(client, files, tally, body_lines)
        except UnreachableError as error:
            complain(str(error))
            return 3
        except AnswerError as error:
            complain(f"the server turned it down: {error}")
            return 2
        except OSError as error:
            complain(f"a file cannot be read to its end: {error.strerror}")
            return 1
    return 1 if tally.rejected else 0


async def in_bodies(client: Client, files: Files, tally: Tally, body_lines: int) -> None:
    """Push by requests of `body_lines` lines and a megabyte at most, one after the other, so that order is kept.

    Raises `UnreachableError`, `AnswerError` and `OSError`, once what is known by then is in the tally.
    """
    async for lines in files.batches(body_lines, BODY_BYTES):
        fit: list[FileLine] = []
        for line in lines:
            if line.data is None:
                _too_long(tally, line)
            else:
                fit.append(line)
        body = client.body([line.data or b"" for line in fit], on_wait=tally.wait)
        try:
            await body.send()
        except BaseException:
            tally.take(body.reply, fit, sent=len(fit) - len(body.waiting))
            if body.waiting:
                complain(f"{fit[body.waiting[0] - 1].place} is the first line that may not have been taken")
            raise
        tally.take(body.reply, fit)


async def in_stream(client: Client, files: Files, tally: Tally) -> None:
    """Push by one request that stays open: each line goes as soon as it is there. Raises as `in_bodies` does."""
    under_way: dict[int, FileLine] = {}

    def settled(reply: IngestReply, numbers: Sequence[int]) -> None:
        place = {number: at for at, number in enumerate(numbers, 1)}
        mine = IngestReply(
            reply.accepted,
            reply.duplicates,
            [replace(each, line=place[each.line]) for each in reply.rejected],
            [replace(each, line=place[each.line]) for each in reply.conflicts],
        )
        tally.take(mine, [under_way.pop(number) for number in numbers])

    stream = client.stream(on_wait=tally.wait, on_reply=settled)
    try:
        async with stream:
            async for lines in files.batches(STREAM_LINES, BODY_BYTES, linger=0):
                for line in lines:
                    if line.data is None:
                        _too_long(tally, line)
                    else:
                        under_way[await stream.send(line.data)] = line
    except BaseException:
        if stream.waiting:
            complain(f"{under_way[stream.waiting[0]].place} is the first line that may not have been taken")
        raise
    finally:
        tally.resent += stream.reply.resent


def _too_long(tally: Tally, line: FileLine) -> None:
    tally.lines += 1
    tally.reject(line, "line_too_long", "it is longer than any server takes")
