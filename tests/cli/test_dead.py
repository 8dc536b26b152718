"""`attend dead`: letters of a server, listed, shown, retried and dropped from outside."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from attend import Attend, Decision, Judgment, PermanentError, RedisStore, rule
from attend.judges.base import JudgeInput
from tests.cli.test_serve import attend
from tests.rig.reader import until
from tests.servers import Server, plain_client

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


class Stubborn:
    """A judge that refuses until it is told to give in, and an inbox."""

    def __init__(self) -> None:
        self.refuses = True
        self.inbox: list[Decision] = []

    async def judge(self, input: JudgeInput, /) -> Judgment:
        """Refuse, or do as `rule` does."""
        if self.refuses:
            raise PermanentError("no\x1b[2J way")
        return await rule(input)

    async def take(self, decision: Decision) -> None:
        """Keep it."""
        self.inbox.append(decision)


@asynccontextmanager
async def served(server: Server, stubborn: Stubborn) -> AsyncGenerator[Attend]:
    """An app that runs on the emptied server."""
    with plain_client(server.url) as client:
        client.flushall()
    app = Attend(store=RedisStore(server.url), kind={"u": "flush"}, judge=stubborn.judge, sink=stubborn.take)
    async with app, anyio.create_task_group() as tasks:
        tasks.start_soon(app.run)
        yield app
        tasks.cancel_scope.cancel()


async def buried(app: Attend, *scopes: str) -> None:
    """A window of each scope that the judge refused."""
    for scope in scopes:
        await app.push(scope, [{"id": f"of {scope}", "name": "u", "text": f"hello {scope}"}])

    async def all_dead() -> bool:
        return len([letter async for letter in app.letters.all()]) == len(scopes)

    await until(all_dead)


async def run(*arguments: str, **environ: str) -> tuple[int, str, str]:
    """The command, beside the app: its exit code, output and complaints."""
    ran = await anyio.to_thread.run_sync(lambda: attend("dead", *arguments, **environ))
    return ran.returncode, ran.stdout, ran.stderr


async def test_letters_are_listed_shown_retried_and_dropped(valkey: Server) -> None:
    stubborn = Stubborn()
    store = ("--store", valkey.url)
    async with served(valkey, stubborn) as app:
        assert await run("list", *store) == (0, "there are no dead letters\n", "")
        await buried(app, "s1", "s2", "s3")

        code, said, _ = await run("list", *store, "--json")
        letters = {each["scope"]: each for each in map(json.loads, said.splitlines())}
        assert code == 0
        assert letters["s1"].keys() == {"id", "scope", "stage", "at", "starts", "eventCount", "message"}
        ids = {scope: each["id"] for scope, each in letters.items()}

        code, said, _ = await run("list", *store, "--scope", "s2")
        assert said.startswith(f"{ids['s2']}  s2  judge, 1 start, 1 event, ")
        assert "\x1b" not in said
        assert len(said.splitlines()) == 1

        code, said, _ = await run("show", *store, ids["s2"])
        assert code == 0
        assert "hello s2" in said
        code, said, _ = await run("show", *store, "--json", ids["s2"].removeprefix("dead-"))
        shown = json.loads(said)
        assert (shown["scope"], shown["events"][0]["text"]) == ("s2", "hello s2")

        stubborn.refuses = False
        code, said, _ = await run("retry", *store, ids["s1"])
        assert (code, said) == (0, f"{ids['s1']}: on its way again\n")

        async def arrived() -> bool:
            return [each.scope for each in stubborn.inbox] == ["s1"]

        await until(arrived)
        assert stubborn.inbox[0].id == ids["s1"].removeprefix("dead-")

        code, said, complaint = await run("drop", *store, ids["s1"], ids["s2"])
        assert (code, said) == (1, f"{ids['s2']}: dropped\n")
        assert complaint == f"attend: {ids['s1']}: there is no such dead letter\n"
        code, said, _ = await run("retry", *store, "--all", "--json")
        assert [json.loads(line) for line in said.splitlines()] == [{"id": ids["s3"], "outcome": "done"}]
        code, said, complaint = await run("show", *store, ids["s2"])
        assert (code, said) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "ACT"),
        (("list", "x"), "it takes no x; see attend dead list --help"),
        (("show",), "ID"),
        (("retry",), "one of the two"),
        (("drop", "x", "--all"), "one of the two"),
        (("retry", "x", "--scope", "s"), "it goes with --all"),
        (("list", "--store", "memory"), "--store"),
        (("bury",), "invalid choice"),
    ],
)
async def test_what_cannot_be_meant_is_said_in_one_line(arguments: tuple[str, ...], complaint: str) -> None:
    code, said, error = await run(*arguments)
    assert (code, said) == (2, "")
    assert complaint in error
    assert len(error.splitlines()) == 1


async def test_a_store_that_cannot_be_reached_is_another_exit_code(tmp_path: Path) -> None:
    code, said, error = await run("list", "--data", str(tmp_path))
    assert (code, said) == (3, "")
    assert "is attend serve running?" in error
