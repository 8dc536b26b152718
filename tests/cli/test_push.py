"""`attend push` against a real serve: what is taken, what is shown, and how it ends."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import KINDS
from tests.cli.test_serve import attend, until
from tests.rig.fleet import free_port
from tests.rig.service import Service
from tests.rig.tool import Terminal, line, start
from tests.servers import bundled_binary

pytestmark = pytest.mark.timeout(300)


def test_push_shows_each_bad_line_with_its_place_in_its_file(url: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson"
    first.write_bytes(
        b"\xef\xbb\xbf"
        + line("p1", "a")
        + b"not json\n"
        + b"\n"
        + line("p1", "b")
        + line("p1", "a", text="other")
    )
    second.write_bytes(line("", "c") + line("p1", "d", at=17) + line("p1", "e").rstrip())
    ran = attend("push", str(first), str(second), "--url", url)
    assert ran.returncode == 1
    bad = ran.stderr.splitlines()
    assert bad[0].startswith(f"{first}:2: bad_json: ")
    assert bad[1].startswith(f"{first}:5: the id 'a' was taken before with other content")
    assert bad[2].startswith(f"{second}:1: bad_scope: ")
    assert bad[3].startswith(f"{second}:2: bad_at: ")
    assert len(bad) == 4
    assert ran.stdout.startswith("7 lines in ")
    assert "3 accepted, 1 duplicate, 3 rejected, 1 with an id" in ran.stdout
    again = attend("push", str(second), ATTEND_URL=url)
    assert "0 accepted, 1 duplicate, 2 rejected" in again.stdout


def test_push_of_many_lines_goes_in_bodies_and_all_are_taken(url: str, tmp_path: Path) -> None:
    file = tmp_path / "many.ndjson"
    file.write_bytes(b"".join(line(f"p2/{n % 7}", f"e{n}", text="x" * (n % 900)) for n in range(3000)))
    ran = attend("push", str(file), "--url", url, "--body-lines", "400")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "3000 accepted, 0 duplicates, 0 rejected" in ran.stdout
    with file.open("rb") as stdin:
        process = start("push", "-", "--url", url, stdin=stdin)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"0 accepted, 3000 duplicates" in out


def test_a_live_pipe_is_sent_as_it_comes(url: str) -> None:
    process = start("push", "-", "--url", url, stdin=subprocess.PIPE)
    assert process.stdin is not None
    for id in ("a", "b"):
        process.stdin.write(line("p3", id))
        process.stdin.flush()

        def taken(id: str = id) -> bool:
            answer = httpx.get(f"{url}/v1/scopes/p3", timeout=60)
            return answer.status_code == 200 and answer.json()["open"]["events"][-1]["id"] == id

        until(taken)
        assert process.poll() is None
    process.stdin.write(line("p3", "c").rstrip())
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"3 lines in" in out


def test_a_line_without_an_end_is_not_kept_in_memory_for_ever(url: str) -> None:
    process = start("push", "-", "--url", url, stdin=subprocess.PIPE)
    assert process.stdin is not None
    for _ in range(40):
        process.stdin.write(b"x" * 1024 * 1024)
    process.stdin.write(b"\n" + line("p4", "a"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert err.startswith(b"stdin:1: line_too_long: ")
    assert b"2 lines in" in out
    assert b"1 accepted, 0 duplicates, 1 rejected" in out


def test_push_waits_for_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    file = tmp_path / "f"
    file.write_bytes(line("s", "a"))
    process = start("push", str(file), "--url", f"http://127.0.0.1:{port}", "--retry-for", "120")
    time.sleep(1)
    service = Service(
        "serve", "--store", "memory", "--port", str(port), "--kinds", KINDS, log=tmp_path / "log"
    )
    try:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert b"1 accepted" in out
        assert b"is attend serve running there?" in err
    finally:
        service.kill()


def test_push_gives_up_in_time_and_says_where_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"\n" + line("s", "a"))
    ran = attend("push", str(file), "--url", "http://127.0.0.1:1", "--retry-for", "1")
    assert ran.returncode == 3
    assert f"{file}:2 is the first line that may not have been taken" in ran.stderr
    assert "nothing answers at http://127.0.0.1:1" in ran.stderr
    assert "0 accepted" in ran.stdout


def test_push_on_a_terminal_has_a_progress_bar(url: str, tmp_path: Path) -> None:
    file = tmp_path / "many.ndjson"
    file.write_bytes(b"".join(line("p5", f"e{n}") for n in range(2000)) + b"bad\n")
    terminal = Terminal("push", str(file), "--url", url)
    code = terminal.end()
    assert code == 1
    assert "100%" in terminal.written
    assert "━" in terminal.written
    assert f"{file}:2001: bad_json" in terminal.written.replace("\r", "").replace("\n", "")
    assert "2000 accepted, 0 duplicates, 1 rejected" in terminal.written


def test_a_push_outlives_a_server_that_is_killed_and_every_line_is_taken_once(tmp_path: Path) -> None:
    bundled_binary()
    port = free_port()
    flags = ("--data", str(tmp_path / "data"), "--port", str(port), "--kinds", KINDS)
    file = tmp_path / "f"
    file.write_bytes(
        b"".join(line(f"k/{n % 50}", f"e{n}") for n in range(4000)) + b'{"scope":"k/x","name":"log"}\n'
    )
    service = Service("serve", *flags, log=tmp_path / "log").wait_ready()
    try:
        process = start("push", str(file), "--url", service.url, "--body-lines", "20", "--retry-for", "200")
        until(lambda: httpx.get(f"{service.url}/v1/scopes/k%2F49", timeout=60).status_code == 200)
        service.kill()
        service = Service("serve", *flags, log=tmp_path / "log").wait_ready()
        out, err = process.communicate(timeout=250)
        assert process.returncode == 0, err
        assert out.startswith(b"4001 lines in")
        assert b"0 rejected" in out
        again = attend("push", str(file), "--url", service.url)
        assert "1 accepted, 4000 duplicates" in again.stdout
        found = httpx.get(f"{service.url}/v1/scopes/k%2F0", timeout=60).json()
        assert found["open"]["eventCount"] == 80
    finally:
        service.kill()
