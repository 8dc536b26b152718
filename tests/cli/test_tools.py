"""`attend tail` and `attend scope` against a real serve, and what the tools have in common."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import KINDS
from tests.cli.test_serve import attend
from tests.rig.service import Service
from tests.rig.tool import Terminal, line, start
from tests.servers import bundled_binary

pytestmark = pytest.mark.timeout(300)


def test_tail_from_the_start_filtered_as_text_and_as_json(url: str) -> None:
    for n in range(3):
        said = line(f"t1/{n}", "a", "user.said", text="red \x1b[31m alert\nsecond line")
        httpx.post(f"{url}/v1/ingest", content=said, timeout=60).raise_for_status()
    ran = attend("tail", "--from", "start", "--scope-prefix", "t1/", "-n", "3", "--url", url)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("interrupt") == 3
    assert "    red \N{REPLACEMENT CHARACTER}[31m alert\n    second line\n" in ran.stdout
    assert "\x1b" not in ran.stdout
    ran = attend(
        "tail",
        "--from",
        "start",
        "--scope",
        "t1/1",
        "--route",
        "interrupt,ask",
        "-n",
        "1",
        "--json",
        ATTEND_URL=url,
    )
    [found] = [json.loads(row) for row in ran.stdout.splitlines()]
    assert found["data"]["scope"] == "t1/1"
    ran = attend("tail", "--no-follow", "--since", "1h", "--scope-prefix", "t1/", "--url", url)
    assert (ran.returncode, ran.stdout.count("interrupt")) == (0, 3)
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d  interrupt", ran.stdout)
    assert attend("tail", "--no-follow", "--scope", "t1/none", "--url", url).stdout == ""
    on = start("tail", "--from", found["cursor"], "--scope-prefix", "t1/", "--json", "--url", url)
    assert on.stdout is not None
    assert json.loads(on.stdout.readline())["data"]["scope"] == "t1/2"
    on.send_signal(signal.SIGINT)
    assert on.wait(60) == 0
    on.communicate()


def test_a_cursor_may_begin_with_a_dash(url: str) -> None:
    ran = attend("tail", "--from", "-" + "x" * 100, "--scope", "t1/none", "--no-follow", "--url", url)
    assert ran.returncode == 0
    assert "going on with the oldest that is kept" in ran.stderr


def test_tail_shows_decisions_as_they_come_and_survives_a_reader_that_goes(url: str) -> None:
    tail = start("tail", "--scope", "t2", "--url", url)
    found: list[bytes] = []
    assert tail.stdout is not None
    stdout = tail.stdout
    reading = threading.Thread(target=lambda: found.append(stdout.readline()), daemon=True)
    reading.start()
    number = 0
    while not found:
        number += 1
        httpx.post(f"{url}/v1/ingest", content=line("t2", f"a{number}", "user.said"), timeout=60)
        reading.join(0.5)
        assert number < 100
    assert b"interrupt  t2" in found[0].replace(b"  ", b" ").replace(b" t2", b"  t2")
    stdout.close()
    while tail.poll() is None:
        number += 1
        httpx.post(f"{url}/v1/ingest", content=line("t2", f"a{number}", "user.said"), timeout=60)
        time.sleep(0.2)
        assert number < 300
    assert tail.stderr is not None
    assert (tail.returncode, tail.stderr.read()) == (0, b"")
    tail.stderr.close()


def test_scope_says_why_it_has_not_settled(url: str) -> None:
    httpx.post(
        f"{url}/v1/ingest", content=line("s/1 ö", "a", "look", text="a look") + line("s/2", "b"), timeout=60
    )
    ran = attend("scope", "s/1 ö", "--url", url)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "no passive event has come for 50000 ms" in ran.stdout
    assert "passive     " in ran.stdout
    assert "a look" in ran.stdout
    assert "none an act" in attend("scope", "s/2", "--url", url).stdout
    found = json.loads(attend("scope", "s/2", "--json", "--url", url).stdout)
    assert (found["status"], found["open"]["eventCount"]) == ("no_act", 1)
    none = attend("scope", "nobody", "--url", url)
    assert (none.returncode, none.stdout) == (1, "")
    assert "is known, or it is not yours to see" in none.stderr


def test_scope_on_a_terminal_counts_down(url: str) -> None:
    httpx.post(f"{url}/v1/ingest", content=line("s/3", "a", "look"), timeout=60)
    terminal = Terminal("scope", "s/3", "--watch", "--url", url)
    terminal.read_until("in 49 s")
    terminal.read_until("in 47 s")
    httpx.post(f"{url}/v1/ingest", content=line("s/3", "b", "user.said"), timeout=60)
    terminal.read_until("nothing is open")
    assert terminal.interrupt() == 0
    assert "Traceback" not in terminal.written


def test_scope_in_a_pipe_shows_each_change(url: str) -> None:
    process = start("scope", "s/4", "--watch", "--json", "--url", url)
    assert process.stdout is not None
    httpx.post(f"{url}/v1/ingest", content=line("s/4", "a"), timeout=60)
    assert json.loads(process.stdout.readline())["open"]["eventCount"] == 1
    httpx.post(f"{url}/v1/ingest", content=line("s/4", "b"), timeout=60)
    assert json.loads(process.stdout.readline())["open"]["eventCount"] == 2
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.communicate()


def test_a_token_and_a_socket_are_taken_from_the_environment(tmp_path: Path) -> None:
    bundled_binary()
    path, file = str(tmp_path / "a.sock"), tmp_path / "f"
    file.write_bytes(line("s", "a", "user.said"))
    flags = ("--store", "memory", "--socket", path, "--token", "t0ken", "--kinds", KINDS)
    service = Service("serve", *flags, ready=r"unix:[\w./-]+", log=tmp_path / "log").wait_ready()
    try:
        right = {"ATTEND_SOCKET": path, "ATTEND_TOKEN": "t0ken"}
        assert attend("push", str(file), **right).returncode == 0
        assert (
            "interrupt"
            in attend(
                "tail", "--from", "start", "-n", "1", "--url", f"unix:{path}", ATTEND_TOKEN="t0ken"
            ).stdout
        )
        assert attend("scope", "s", **right).returncode == 0
        for tool in (["push", str(file)], ["tail"], ["scope", "s"]):
            ran = attend(*tool, ATTEND_SOCKET=path)
            assert ran.returncode == 2, tool
            assert "401 unauthorized" in ran.stderr
            assert "t0ken" not in ran.stderr
    finally:
        service.kill()


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["push"], 1),
        (["push", "no-such-file", "/", "-", "-"], 3),
        (["push", "--url", "localhost:8787", "--retry-for", "soon", "-"], 1),
        (["push", "--url", "localhost:8787", "--token", "", "-"], 2),
        (["tail", "--from", "yesterday", "--since", "yesterday"], 2),
        (["tail", "--from", "start", "--since", "1h"], 1),
        (["tail", "--from", "now", "--no-follow"], 1),
        (["push", "--url", "http://h", "--socket", "/tmp/s", "-"], 1),
        (["tail", "--route", "wait,skip", "--min-confidence", "2", "-n", "0"], 4),
        (["scope"], 1),
        (["scope", "a", "--bogus"], 1),
        (["doctor", "extra"], 1),
    ],
)
def test_wrong_flags_are_a_line_each_and_exit_code_2(arguments: list[str], lines: int) -> None:
    ran = attend(*arguments)
    assert (ran.returncode, ran.stderr.count("\n"), ran.stdout) == (2, lines, ""), ran.stderr
    assert all(row.startswith("attend: ") for row in ran.stderr.splitlines())


@pytest.mark.parametrize("tool", ["push", "tail", "scope", "doctor"])
def test_each_tool_has_help(tool: str) -> None:
    ran = attend(tool, "--help")
    assert ran.returncode == 0
    assert "[ATTEND_STORE]" in ran.stdout if tool == "doctor" else "[ATTEND_URL]" in ran.stdout


def test_tail_and_scope_without_a_server() -> None:
    for tool in (["tail"], ["scope", "s"]):
        ran = attend(*tool, "--url", "http://127.0.0.1:1")
        assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
        assert "nothing answers at http://127.0.0.1:1; is attend serve running there?" in ran.stderr
