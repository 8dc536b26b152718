"""`attend push`, `tail` and `scope` against a real serve: what they write, and how they end."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.test_serve import attend, until
from tests.rig.service import Service
from tests.servers import bundled_binary

pytestmark = pytest.mark.timeout(300)

KINDS = '{"user.said":"flush","build.*":"closing","look":"passive"}'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running serve, which the tests share; each has scopes of its own."""
    bundled_binary()
    log = tmp_path_factory.mktemp("serve") / "log"
    flags = ("--store", "memory", "--port", "0", "--kinds", KINDS, "--settle", "passive_quiet_ms=50000")
    service = Service("serve", *flags, log=log)
    yield service.wait_ready().url
    service.kill()


def line(scope: str, id: str, name: str = "log", **more: Any) -> bytes:
    """One event as a line."""
    return json.dumps({"scope": scope, "id": id, "name": name, **more}).encode() + b"\n"


def start(
    *arguments: str,
    stdin: Any = None,
    output: Any = subprocess.PIPE,
    environ: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start the command; stdout and stderr are pipes, or both the one thing given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
    return subprocess.Popen(
        [sys.executable, "-m", "attend", *arguments],
        stdin=stdin,
        stdout=output,
        stderr=output,
        env={**clean, **(environ or {})},
    )


class Terminal:
    """A command on a terminal of its own: everything it wrote there, as it came."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        environ = {"TERM": "xterm-256color", "COLUMNS": "100"}
        self.process = start(*arguments, stdin=theirs, output=theirs, environ=environ)
        os.close(theirs)
        self.written = ""

    def read_until(self, words: str, seconds: float = 60) -> str:
        """Read until it wrote some words, or ended."""
        end = time.monotonic() + seconds
        while words not in self.written and time.monotonic() < end:
            ready, _, _ = select.select([self._ours], [], [], 0.1)
            if ready:
                try:
                    data = os.read(self._ours, 65536)
                except OSError:
                    break
                self.written += data.decode(errors="replace")
        assert words in self.written, self.written[-2000:]
        return self.written

    def interrupt(self) -> int:
        """Control-C, and its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        """Wait for its end, reading on, and its exit code."""
        while self.process.poll() is None:
            ready, _, _ = select.select([self._ours], [], [], 0.1)
            if ready:
                try:
                    self.written += os.read(self._ours, 65536).decode(errors="replace")
                except OSError:
                    break
        code = self.process.wait(60)
        os.close(self._ours)
        return code


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
    on = start("tail", "--from", found["cursor"], "--scope-prefix", "t1/", "--json", "--url", url)
    assert on.stdout is not None
    assert json.loads(on.stdout.readline())["data"]["scope"] == "t1/2"
    on.send_signal(signal.SIGINT)
    assert on.wait(60) == 0
    on.communicate()


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
    assert "no such scope" in none.stderr


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
