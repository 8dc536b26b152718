"""The bundled server: one per folder, taken over after a crash, gone with its serve where the system can."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio

from attend.cli.bundled import Bundled
from attend.cli.folder import Folder, default_data
from attend.errors import ConfigError
from tests.servers import bundled_binary

pytestmark = pytest.mark.anyio

CRASH = """
import asyncio, os, sys
from pathlib import Path
import redis.asyncio
from attend.cli.bundled import Bundled
from attend.cli.folder import Folder

async def main() -> None:
    bundled = Bundled(Folder.take(Path(sys.argv[1]), "--data"), persist=True, say=print, tied=sys.argv[2] == "tied")
    await bundled.start()
    client = redis.asyncio.from_url(bundled.url)
    await client.set("said", sys.argv[3])
    print(bundled.pid, flush=True)
    os._exit(9)

asyncio.run(main())
"""


async def ask(bundled: Bundled, *command: str) -> Any:
    """One command's answer from the server."""
    client: Any = redis.asyncio.Redis(unix_socket_path=bundled.url.removeprefix("unix://"))
    try:
        return await client.execute_command(*command)
    finally:
        await client.aclose()


@pytest.fixture(autouse=True)
def _needs_the_wheel() -> None:
    bundled_binary()


def crash(data: Path, tied: str, said: str) -> int:
    """A serve that starts its server, writes, and dies at once; the server's process id."""
    ran = subprocess.run(
        [sys.executable, "-c", CRASH, str(data), tied, said],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 9, ran.stderr
    return int(ran.stdout.split()[-1])


async def said(data: Path, words: list[str]) -> str:
    """Start a server on the folder, read what was said there, stop it."""
    folder = Folder.take(data, "--data")
    bundled = Bundled(folder, persist=True, say=words.append)
    try:
        await bundled.start()
        value: bytes | None = await ask(bundled, "GET", "said")
        return (value or b"").decode()
    finally:
        await bundled.stop()
        folder.close()


def alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return b"State:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return False


async def test_a_server_that_outlived_its_serve_is_taken_over_with_what_it_acknowledged(
    tmp_path: Path,
) -> None:
    orphan = crash(tmp_path, "loose", "kept")
    assert alive(orphan)
    words: list[str] = []
    assert await said(tmp_path, words) == "kept"
    assert words[0] == "stopping the server that an earlier run left"
    assert not alive(orphan)


async def test_a_frozen_server_that_an_earlier_run_left_is_killed_and_loses_nothing(tmp_path: Path) -> None:
    orphan = crash(tmp_path, "loose", "also kept")
    os.kill(orphan, signal.SIGSTOP)
    folder = Folder.take(tmp_path, "--data")
    bundled = Bundled(folder, persist=True, say=print, patience=0.5)
    await bundled.start()
    assert await ask(bundled, "GET", "said") == b"also kept"
    await bundled.stop()
    folder.close()
    assert not alive(orphan)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent is gone")
async def test_a_tied_server_ends_with_its_serve(tmp_path: Path) -> None:
    orphan = crash(tmp_path, "tied", "kept too")
    async with asyncio.timeout(30):
        while alive(orphan):  # noqa: ASYNC110 - another process' end has no event
            await asyncio.sleep(0.02)
    assert await said(tmp_path, []) == "kept too"


async def test_a_pid_file_that_names_a_stranger_harms_nobody(tmp_path: Path) -> None:
    assert await said(tmp_path, []) == ""
    (tmp_path / "valkey" / "valkey.pid").write_text(str(os.getpid()), encoding="ascii")
    assert await said(tmp_path, []) == ""


async def test_a_folder_has_one_serve(tmp_path: Path) -> None:
    first = Folder.take(tmp_path, "--data")
    with pytest.raises(
        ConfigError, match=rf"ATTEND_DATA: .* in use by another attend serve \(process {os.getpid()}\)"
    ):
        Folder.take(tmp_path, "ATTEND_DATA")
    first.close()
    Folder.take(tmp_path, "--data").close()


async def test_only_the_user_can_open_what_is_kept(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await said(data, [])
    for path in [data, data / "valkey", *(data / "valkey").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


async def test_a_path_too_long_for_a_socket_gets_a_short_one(tmp_path: Path) -> None:
    data = tmp_path / ("x" * 120)
    words: list[str] = []
    crash(data, "loose", "far away")
    assert await said(data, words) == "far away"
    folder = Folder.take(data, "--data")
    assert len(str(folder.socket)) < 104
    folder.socket.parent.rmdir()
    folder.close()


async def test_a_folder_that_cannot_be_used_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(ConfigError, match=r"--data: .*file.*give a folder that can be written"):
        Folder.take(tmp_path / "file" / "data", "--data")


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    await said(tmp_path, [])
    manifest = next((tmp_path / "valkey" / "appendonlydir").glob("*.manifest"))
    manifest.write_text("nonsense\n", encoding="ascii")
    folder = Folder.take(tmp_path, "--data")
    bundled = Bundled(folder, persist=True, say=print)
    with pytest.raises(Exception, match=r"(?s)ended as it started.*manifest"):
        await bundled.start()
    await bundled.stop()
    folder.close()


async def test_without_persistence_nothing_is_left() -> None:
    folder = Folder.temporary_one()
    bundled = Bundled(folder, persist=False, say=print)
    await bundled.start()
    assert await ask(bundled, "PING")
    await bundled.stop()
    folder.close()
    assert not folder.path.exists()


async def test_the_temporary_folder_of_a_serve_that_was_killed_is_cleared_away() -> None:
    left = Folder.temporary_one()
    os.close(left._lock)  # pyright: ignore[reportPrivateUsage] - as the system does for a killed process
    held = Folder.temporary_one()
    assert not left.path.exists()
    Folder.temporary_one().close()
    assert held.path.exists()
    held.close()


def test_the_data_folder_follows_the_desktop_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_data({"XDG_DATA_HOME": "/xdg"}) == Path("/xdg/attend")
    assert default_data({"XDG_DATA_HOME": "relative"}) == Path.home() / ".local/share/attend"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_data({"XDG_DATA_HOME": "/xdg"}) == Path.home() / "Library/Application Support/attend"
