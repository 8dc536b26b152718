"""The page about sources says what works: its file can be used, and its code is code."""

from __future__ import annotations

import re
from pathlib import Path

from attend import mcp
from attend.mcp.source import key_of
from attend.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_its_file_can_be_used(tmp_path: Path) -> None:
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "attend.toml"
    file.write_text(text, encoding="utf-8")
    repo, ci = Settings.from_file(str(file)).sources
    assert (repo.url, repo.arguments) == ("https://events.example/mcp", {"repo": "acme/shop"})
    assert ci.command == ("ci-events", "--quiet")


def test_its_code_is_code_and_names_what_is_there() -> None:
    whole, opened, heard = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for code in (whole, heard):
        exec(compile(code, "sources.md", "exec"), names)  # noqa: S102
    indented = "".join(f"    {line}\n" for line in opened.splitlines())
    compile(f"async def main():\n{indented}", "sources.md", "exec")
    assert set(re.findall(r"\b(\w+Server|stdio_server|mcp_events_source)\(", opened)) <= set(mcp.__all__)


def test_a_key_is_as_it_says() -> None:
    assert key_of("repo.activity", {"b": 1, "a": "x"}) == 'mcp:repo.activity:{"a":"x","b":1}'
