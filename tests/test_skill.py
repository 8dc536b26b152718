"""The plugin and the skill say what is there: their files can be read, their commands exist, their code runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attend.cli.main import parser
from attend.core.rules import Rules
from attend.core.types import Kind, Route
from attend.version import __version__

ROOT = Path(__file__).parent.parent
SKILL = ROOT / "skills" / "attend"
PLUGIN = ROOT / "plugin"
PAGES = [SKILL / "SKILL.md", *sorted((SKILL / "references").glob("*.md"))]
WRITTEN = [*PAGES, PLUGIN / "README.md", *sorted((PLUGIN / "commands").glob("*.md"))]


def read(path: Path) -> str:
    """A page."""
    return path.read_text(encoding="utf-8")


def loaded(path: Path) -> Any:
    """A file of JSON."""
    return json.loads(read(path))


def front(path: Path) -> dict[str, str]:
    """What a page says of itself before it begins."""
    _, head, _ = read(path).split("---\n", 2)
    return {key: value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}


def flags() -> dict[str, set[str]]:
    """The flags of each command."""
    actions: list[Any] = vars(parser())["_actions"]
    found: dict[str, Any] = next(action.choices for action in actions if action.dest == "command")
    commands: dict[str, dict[str, Any]] = {
        name: vars(command)["_option_string_actions"] for name, command in found.items()
    }
    return {name: set(options) for name, options in commands.items()}


def blocks(language: str, path: Path) -> list[str]:
    """The code of a page."""
    return re.findall(rf"```{language}\n(.*?)```", read(path), re.DOTALL)


def test_a_marketplace_has_the_plugin_and_the_plugin_has_the_skill() -> None:
    [plugin] = loaded(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert (ROOT / plugin["source"]).resolve() == PLUGIN
    manifest = loaded(PLUGIN / ".claude-plugin" / "plugin.json")
    assert (manifest["name"], manifest["version"]) == (plugin["name"], __version__)
    assert (PLUGIN / "skills").resolve() == ROOT / "skills"
    servers = manifest["mcpServers"]
    assert [channel["server"] for channel in manifest["channels"]] == ["attend-channel"]
    channel = servers["attend-channel"]
    assert channel["command"] == "attend"
    assert channel["args"][0] in flags()
    assert set(channel["args"][1::2]) <= flags()[channel["args"][0]]
    assert servers["attend"]["url"].endswith("/mcp")


def test_the_skill_says_when_it_is_for_and_is_short_enough_to_be_read() -> None:
    about = front(SKILL / "SKILL.md")
    assert about["name"] == SKILL.name
    assert 40 < len(about["description"]) <= 1024
    assert len(read(SKILL / "SKILL.md").splitlines()) < 200
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", read(page)):
            assert (page.parent / target).is_file(), f"{page.name}: {target}"


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_command_and_flag_that_is_named_exists(path: Path) -> None:
    known = flags()
    for line in re.findall(r"^ *(attend .*)$", "\n".join(blocks("sh", path)), re.MULTILINE):
        _, command, *rest = line.split()
        assert command in known, line
        assert {word for word in rest if word.startswith("--")} <= known[command], line
    for command in re.findall(r"`attend (\w+)", read(path)):
        assert command in known, command
    every = set[str]().union(*known.values())
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", read(path)))
    assert named - every <= {"--channels", "--dangerously-load-development-channels"}


def test_the_page_of_kinds_has_them_all_with_their_times() -> None:
    page = read(SKILL / "references" / "kinds.md")
    assert {kind.value for kind in Kind} | {route.value for route in Route} <= set(
        re.findall(r"`(\w+)`", page)
    )
    rules = Rules()
    found = (rules.closing_grace_ms, rules.stream_gap_ms, rules.passive_quiet_ms, rules.max_window_ms)
    assert found == (500, 1000, 4000, 60_000)
    assert all(text in page for text in ("500 ms", "1 s after", "4 s after", "60 s"))


def test_the_module_runs_and_its_test_passes(tmp_path: Path) -> None:
    module, client, test = blocks("python", SKILL / "references" / "module.md")
    compile(client, "client", "exec")
    (tmp_path / "hears.py").write_text(module, encoding="utf-8")
    (tmp_path / "test_hears.py").write_text(test, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", "hears.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("[interrupt] repo:shop\nBuild 4521 failed: 1 test\ncan you look?")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_hears.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


def test_the_line_of_a_replay_can_be_replayed(tmp_path: Path) -> None:
    page = SKILL / "references" / "replay.md"
    [line] = blocks("json", page)
    (tmp_path / "events.ndjson").write_text(line, encoding="utf-8")
    (tmp_path / "kinds.json").write_text('{"build.*":"closing"}', encoding="utf-8")
    (tmp_path / "labels").write_text("b1\n", encoding="utf-8")
    command = blocks("sh", page)[0].split()
    ran = subprocess.run(
        [sys.executable, "-m", "attend.cli.main", *command[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "recall     1.000" in ran.stdout
