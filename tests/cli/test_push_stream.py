"""`attend push --stream` against a real serve: lines of a pipe become decisions while the pipe is open."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import KINDS
from tests.cli.test_serve import attend
from tests.rig.fleet import free_port
from tests.rig.service import Service
from tests.rig.tool import line, start
from tests.servers import bundled_binary

pytestmark = pytest.mark.timeout(300)


def test_a_line_of_a_live_pipe_is_a_decision_before_the_next_one_comes(url: str) -> None:
    tail = start("tail", "--scope", "ps1", "--from", "start", "--json", "--url", url)
    push = start("push", "--stream", "-", "--url", url, stdin=subprocess.PIPE)
    assert push.stdin is not None
    assert tail.stdout is not None
    for id in ("a", "b", "c"):
        push.stdin.write(line("ps1", id, "user.said"))
        push.stdin.flush()
        assert json.loads(tail.stdout.readline())["data"]["eventIds"] == [id]
        assert push.poll() is None
    push.stdin.write(line("ps1", "d")[:-1])
    out, err = push.communicate(timeout=60)
    assert (push.returncode, err) == (0, b"")
    assert b"4 lines in" in out
    assert b"4 accepted, 0 duplicates, 0 rejected" in out
    tail.terminate()
    tail.communicate()


def test_each_bad_line_is_shown_with_its_place(url: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson"
    first.write_bytes(b"\xef\xbb\xbf" + line("ps2", "a") + b"not json\n\n" + line("ps2", "a", text="other"))
    second.write_bytes(line("", "c") + line("ps2", "d").rstrip())
    ran = attend("push", "--stream", str(first), str(second), "--url", url)
    assert ran.returncode == 1
    shown = ran.stderr.splitlines()
    assert [row.split(": ")[0] for row in shown] == [f"{first}:2", f"{first}:4", f"{second}:1"]
    assert ran.stdout.startswith("5 lines in ")
    assert "2 accepted, 1 duplicate, 2 rejected, 1 with an id" in ran.stdout


def test_it_outlives_a_server_that_is_killed_and_every_line_is_taken_once(tmp_path: Path) -> None:
    bundled_binary()
    port = free_port()
    flags = ("--data", str(tmp_path / "data"), "--port", str(port), "--kinds", KINDS)
    service = Service("serve", *flags, log=tmp_path / "log").wait_ready()
    push = start("push", "--stream", "-", "--url", service.url, stdin=subprocess.PIPE)
    assert push.stdin is not None
    for n in range(600):
        push.stdin.write(line(f"ps3/{n % 3}", f"e{n}", text="x" * 500))
        push.stdin.flush()
        if n in (150, 400):
            service.kill()
            service = Service("serve", *flags, log=tmp_path / "log").wait_ready()
    out, _ = push.communicate(timeout=120)
    try:
        assert push.returncode == 0, out
        assert b"600 lines in" in out
        assert b" 0 rejected" in out
        again = tmp_path / "again.ndjson"
        again.write_bytes(b"".join(line(f"ps3/{n % 3}", f"e{n}", text="x" * 500) for n in range(600)))
        ran = attend("push", "--stream", str(again), "--url", service.url)
        assert "0 accepted, 600 duplicates, 0 rejected" in ran.stdout
    finally:
        service.kill()


def test_what_cannot_be_is_said_and_has_its_exit_code(url: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(line("ps4", "a"))
    ran = attend("push", "--stream", "--body-lines", "5", str(file), "--url", url)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    nobody = f"http://127.0.0.1:{free_port()}"
    ran = attend("push", "--stream", str(file), "--url", nobody, "--retry-for", "1")
    assert ran.returncode == 3
    assert f"{file}:1 is the first line that may not have been taken" in ran.stderr
    assert "gave up, with nothing taken for about 1 s" in ran.stderr
