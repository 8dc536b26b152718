"""`attend serve` as a process: its start line, its workers, its folder, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.rig.service import Service
from tests.servers import bundled_binary

pytestmark = pytest.mark.timeout(300)

KINDS = ("--kinds", '{"user.said":"flush"}')


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts `attend serve` on a folder of the test's own; ended with the test."""
    bundled_binary()
    started: list[Service] = []

    def start(*arguments: str) -> Service:
        flags = [] if "--store" in arguments else ["--data", str(tmp_path / "data")]
        port = [] if "--socket" in arguments or "--port" in arguments else ["--port", "0"]
        service = Service(
            "serve", *flags, *port, *arguments, ready=r"(http://|unix:)[\w.:/-]+", log=tmp_path / "log"
        )
        started.append(service)
        return service.wait_ready()

    yield start
    for service in started:
        if service.process.poll() is None:
            service.kill()


def attend(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ATTEND_")}
    return subprocess.run(
        [sys.executable, "-m", "attend", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, **environ},
        check=False,
    )


def say(url: str, event_id: str) -> dict[str, object]:
    """Ingest one event; the reply."""
    line = json.dumps({"scope": "s", "id": event_id, "name": "user.said", "text": "hello"})
    reply: dict[str, object] = (
        httpx.post(f"{url}/v1/ingest", content=line, timeout=60).raise_for_status().json()
    )
    return reply


def children(pid: int) -> dict[int, str]:
    """The processes that a process started, with their command lines."""
    if sys.platform != "linux":
        pytest.skip("it looks into /proc")
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                title = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if parent == pid:
                found[int(entry.name)] = title
    return found


def workers(service: Service) -> list[int]:
    """The worker processes of a serve."""
    return [pid for pid, title in children(service.process.pid).items() if "attend worker" in title]


def until(done: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def test_one_start_line_then_ingest_then_a_clean_end(serve: Callable[..., Service], tmp_path: Path) -> None:
    service = serve(*KINDS)
    url = service.url
    assert service.lines == [f"attend serving {url}  (ingest POST {url}/v1/ingest, MCP {url}/mcp)\n"]
    assert say(url, "e1") == {"accepted": 1, "duplicates": 0, "rejected": []}
    held = list(children(service.process.pid))
    assert service.stop() == 0
    assert all(gone(pid) for pid in held)
    assert len(service.lines) == 1
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_without_kinds_it_says_that_nothing_settles(serve: Callable[..., Service]) -> None:
    service = serve("--store", "memory")
    until(lambda: len(service.lines) == 2)
    assert "nothing settles by itself" in service.lines[1]
    assert "--kinds" in service.lines[1]


def test_a_killed_worker_is_started_again(serve: Callable[..., Service], tmp_path: Path) -> None:
    service = serve("--workers", "2", "--store", "memory", *KINDS)
    first = workers(service)
    assert len(first) == 2
    os.kill(first[0], signal.SIGKILL)
    until(lambda: len({*workers(service)} - {first[0]}) == 2)
    assert re.search(
        rf" WARNING .*\(process {first[0]}\) was ended by SIGKILL; starting another in 0\.2 s",
        (tmp_path / "log").read_text(),
    )
    assert first[1] in workers(service)
    assert service.stop() == 0


def test_no_workers_is_an_api_alone(serve: Callable[..., Service]) -> None:
    service = serve("--workers", "0", "--store", "memory", *KINDS)
    assert workers(service) == []
    assert say(service.url, "e1")["accepted"] == 1
    until(lambda: len(service.lines) == 2)
    assert "no worker runs here (--workers 0)" in service.lines[1]


def test_settings_that_only_a_worker_finds_wrong_end_the_serve(tmp_path: Path) -> None:
    (tmp_path / "picky.py").write_text(
        "import os\nif '_ATTEND_READY' in os.environ:\n    raise RuntimeError('not here')\n"
        "async def judge(input): ...\n",
        encoding="utf-8",
    )
    result = attend(
        "serve", "--store", "memory", "--port", "0", "--judge", "picky:judge", PYTHONPATH=str(tmp_path)
    )
    assert result.returncode == 2
    assert "attend: --judge: picky cannot be imported: RuntimeError: not here" in result.stderr
    assert result.stdout == ""


def test_a_second_serve_on_a_folder_is_told_who_has_it(serve: Callable[..., Service], tmp_path: Path) -> None:
    service = serve(*KINDS)
    second = attend("serve", "--port", "0", "--data", str(tmp_path / "data"))
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"in use by another attend serve (process {service.process.pid})" in second.stderr
    assert second.stdout == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent is gone")
def test_a_killed_serve_takes_its_workers_along_and_the_next_goes_on(serve: Callable[..., Service]) -> None:
    service = serve(*KINDS)
    assert say(service.url, "e1")["accepted"] == 1
    held = list(children(service.process.pid))
    service.kill()
    again = serve(*KINDS)
    assert say(again.url, "e1") == {"accepted": 0, "duplicates": 1, "rejected": []}
    until(lambda: all(gone(pid) for pid in held))


def test_a_database_server_that_dies_is_started_again_with_what_it_held(
    serve: Callable[..., Service],
) -> None:
    service = serve(*KINDS)
    assert say(service.url, "e1")["accepted"] == 1
    server = next(pid for pid, title in children(service.process.pid).items() if "valkey" in title)
    os.kill(server, signal.SIGKILL)

    def repeated() -> bool:
        try:
            return say(service.url, "e1")["duplicates"] == 1
        except httpx.HTTPError:
            return False

    until(repeated)
    assert service.stop() == 0


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = attend("serve", "--port", str(port), "--data", str(tmp_path / "data"))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in result.stderr
    assert "give another --port" in result.stderr


def test_a_store_that_is_away_is_one_line() -> None:
    for command in ("serve", "api"):
        result = attend(command, "--store", "redis://:s3cret@127.0.0.1:1", "--port", "0")
        assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
        assert result.stderr.startswith("attend: --store redis://***@127.0.0.1:1: ")
        assert "s3cret" not in result.stderr


def test_a_unix_socket_takes_the_place_of_a_port(serve: Callable[..., Service], tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    service = serve("--store", "memory", "--socket", str(path), *KINDS)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
        assert client.get("http://localhost/readyz").status_code == 200
    assert service.stop() == 0
    assert not path.exists()


def test_a_token_is_in_no_command_line(serve: Callable[..., Service]) -> None:
    environ = {"ATTEND_TOKEN": "s3cret"}
    for name, value in environ.items():
        os.environ[name] = value
    try:
        service = serve("--store", "memory", "--token", "s3cret", *KINDS)
    finally:
        del os.environ["ATTEND_TOKEN"]
    assert not any("s3cret" in title for title in children(service.process.pid).values())
    assert httpx.post(f"{service.url}/v1/ingest", content="{}").status_code == 401


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["serve", "--port", "x", "--workers", "-1"], 2),
        (["serve", "--judge", "no.such.module:judge"], 1),
        (["serve", "--judge", "json:no_such_judge"], 1),
        (["worker"], 1),
        (["api", "--store", "memory"], 1),
        (["mcp"], 1),
        (["serve", "--bogus"], 1),
        (["worker", "--store", "redis://h", "--port", "1"], 1),
        ([], 1),
        (["fly"], 1),
    ],
)
def test_wrong_settings_are_a_line_each_and_exit_code_2(arguments: list[str], lines: int) -> None:
    result = attend(*arguments, ATTEND_DATA="") if arguments else attend()
    assert (result.returncode, result.stderr.count("\n")) == (2, lines), result.stderr
    assert all(line.startswith("attend: ") for line in result.stderr.splitlines())
    assert result.stdout == ""


def test_a_slip_in_a_flag_is_answered_with_what_was_meant() -> None:
    said = attend("serve", "--prot", "1").stderr
    assert said == "attend: there is no flag --prot; did you mean --port?; see attend serve --help\n"
    assert attend("dead", "list", "--stroe=x").stderr.endswith("--store?; see attend dead list --help\n")


def test_version_and_help() -> None:
    assert attend("--version").stdout == "attend 0.1.0\n"
    for command in ("serve", "api", "mcp", "worker", "demo"):
        result = attend(command, "--help")
        assert result.returncode == 0
    assert "[ATTEND_ACT_THRESHOLD]" in attend("serve", "--help").stdout


def test_the_demo_plays_to_its_end() -> None:
    bundled_binary()
    result = attend("demo")
    assert result.returncode == 0, result.stderr
    assert "deliver  interrupt" in result.stdout
    assert result.stdout.rstrip().endswith("8 events in, 2 deliveries out: 6 of 8 wakes saved.")
