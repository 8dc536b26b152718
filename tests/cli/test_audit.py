"""`attend audit` beside `attend serve --principals`: who did what, from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.test_dead import Stubborn, buried, served
from tests.cli.test_serve import attend
from tests.rig.reader import until
from tests.rig.service import Service, post
from tests.servers import Server, plain_client

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Starts `attend serve`, and stops it."""
    started: list[Service] = []

    def run(*arguments: str) -> Service:
        service = Service("serve", "--port", "0", *arguments, log=tmp_path / "log")
        started.append(service)
        return service.wait_ready()

    yield run
    for service in started:
        service.stop()


def rows(*arguments: str) -> list[dict[str, Any]]:
    """What `attend audit --json` shows."""
    ran = attend("audit", "--json", *arguments)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def status(service: Service, token: str) -> int:
    """What an empty body is answered."""
    return httpx.post(f"{service.url}/v1/ingest", headers={"authorization": f"Bearer {token}"}).status_code


async def test_a_served_principal_is_on_record_and_a_withdrawn_one_is_turned_away(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    file, data = tmp_path / "principals.toml", str(tmp_path / "data")
    made = attend("token", "new", "pager", "--rights", "ingest", "--scopes", "ops/", "--file", str(file))
    token = made.stdout.strip()
    assert token.startswith("att_")
    service = start("--data", data, "--principals", str(file), "--kinds", '{"u":"flush"}')
    assert status(service, "none") == 401
    assert post(service.url, [b'{"scope":"ops/1","name":"n","text":"words"}'], token=token)["accepted"] == 1
    assert post(service.url, [b'{"scope":"shop/1","name":"n"}'], token=token)["accepted"] == 0

    await until(lambda: len(rows("--data", data)) == 2)
    first, second = rows("--data", data)
    assert (first["principal"], first["act"], first["accepted"], first["rejected"]) == (
        "pager",
        "ingest",
        1,
        0,
    )
    assert (second["accepted"], second["rejected"]) == (0, 1)
    assert rows("--data", data, "-n", "1") == [second]
    assert rows("--data", data, "--principal", "nobody") == []
    shown = attend("audit", "--data", data)
    assert "pager  ingest  accepted=1  duplicates=0  rejected=0" in shown.stdout
    assert token not in shown.stdout
    assert "words" not in shown.stdout

    file.write_text("", encoding="utf-8")
    await until(lambda: status(service, token) == 401)
    assert token not in service.log.read_text(encoding="utf-8")


async def test_what_the_command_line_does_with_dead_letters_is_on_record(valkey: Server) -> None:
    stubborn = Stubborn()
    async with served(valkey, stubborn) as app:
        await buried(app, "a", "b")
        first, second = [letter.id async for letter in app.letters.all()]
        stubborn.refuses = False
        store = ("--store", valkey.url)
        assert attend("dead", "retry", first, *store).returncode == 0
        assert attend("dead", "drop", second, *store).returncode == 0
        assert attend("dead", "drop", second, *store).returncode == 1
    found = [(row["principal"], row["act"], row["id"]) for row in rows(*store)]
    assert found == [
        ("(command line)", "dead_retry", first),
        ("(command line)", "dead_drop", second),
    ]
    with plain_client(valkey.url) as client:
        client.flushall()
    assert "nothing is on record" in attend("audit", *store).stdout


def test_a_store_that_is_away_is_said_so(tmp_path: Path) -> None:
    ran = attend("audit", "--store", f"unix://{tmp_path}/nowhere")
    assert (ran.returncode, ran.stdout) == (3, "")
