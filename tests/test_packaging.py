"""What is shipped is what is there: packages, links, the version, and the documents that list them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from attend.options import OPTIONS
from attend.settings import Settings
from attend.table import SETTLE
from attend.version import __version__

ROOT = Path(__file__).parent.parent


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    """A document."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_folder_of_modules_is_a_package_that_is_shipped() -> None:
    setuptools = project()["tool"]["setuptools"]
    linked = {Path(folder): package for package, folder in setuptools["package-dir"].items()}
    on_disk = {
        "attend" if not folder.parts[1:] else ".".join(folder.parts)
        for path in (ROOT / "attend").rglob("__init__.py")
        if not (folder := path.parent.relative_to(ROOT)).is_symlink()
    }
    for folder, package in linked.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            below = path.parent.relative_to(ROOT / folder).parts
            on_disk.add(".".join((package, *below)))
    assert set(setuptools["packages"]) == on_disk
    assert set(setuptools["package-data"]["attend.lua"]) == {
        str(Path(*path.relative_to(ROOT / "lua").parts[:-1], "*.lua"))
        for path in (ROOT / "lua").rglob("*.lua")
    }


def test_the_links_of_the_tree_say_what_the_build_says() -> None:
    for package, folder in project()["tool"]["setuptools"]["package-dir"].items():
        link = ROOT / package.replace(".", "/")
        assert link.is_symlink(), link
        assert link.resolve() == ROOT / folder


def test_the_changelog_is_at_this_version() -> None:
    versions = re.findall(r"^## \[(\d[^\]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == __version__


def test_the_layers_name_every_module() -> None:
    layers = project()["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.strip() for layer in layers for name in re.split(r"[|:]", layer)}
    modules = {
        f"attend.{path.stem}"
        for path in (ROOT / "attend").iterdir()
        if not path.name.startswith(("_", "py.typed"))
    }
    modules -= {"attend.store", "attend.lua"}
    modules |= {f"attend.store.{path.stem}" for path in (ROOT / "attend/store").glob("[!_]*.py")}
    assert modules - named == set()


def test_the_page_of_settings_lists_every_one() -> None:
    table = ["| Flag | Variable | Default | |", "|---|---|---|---|"]
    table += [f"| `{each.flag}` | `{each.variable}` | {each.default} | {each.help} |" for each in OPTIONS]
    found = re.search(
        r"<!-- settings -->\n(.*?)\n?<!-- /settings -->", read("docs/configuration.md"), re.DOTALL
    )
    assert found is not None
    assert found[1].splitlines() == table
    begin = [row for row in read("README.md").splitlines() if row.startswith("| `--")]
    assert len(begin) == 9
    assert set(begin) <= set(table)


def test_the_page_of_settings_lists_every_settle_key_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", read("docs/configuration.md"), re.MULTILINE)
    rules = Settings().rules
    defaults = {name: str(getattr(rules, name)).strip("()").replace(" ", "") for name in SETTLE}
    assert dict(rows) == defaults


def test_the_rules_that_tests_cite_are_on_their_page() -> None:
    rules = re.findall(r"^(\d+)\. \*\*", read("docs/behaviour.md"), re.MULTILINE)
    assert rules == [str(number) for number in range(1, len(rules) + 1)]
    cited: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for numbers in re.findall(r"rules? ([\d, andto]+) of behaviour", path.read_text(encoding="utf-8")):
            cited |= set(re.findall(r"\d+", numbers))
    assert cited
    assert cited <= set(rules)


def test_the_house_has_every_room() -> None:
    picture = read("CONTRIBUTING.md").split("```")[1]
    packages = {path.parent.name for path in (ROOT / "attend").glob("*/__init__.py")} - {"lua"}
    assert {name for name in packages if not re.search(rf"\b{name}\b", picture)} == set()


def test_every_link_of_the_documents_leads_somewhere() -> None:
    documents = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *documents):
        for target in re.findall(r"\]\(([^)#]+)", read(name)):
            if not target.startswith("http"):
                assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"
