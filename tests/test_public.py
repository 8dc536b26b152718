"""The names that `attend` offers: each is there, and says what it is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import attend

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_there_and_has_a_docstring() -> None:
    assert attend.__all__
    for name in attend.__all__:
        value = getattr(attend, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_every_error_is_public() -> None:
    from attend import errors

    named = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert named <= set(attend.__all__)


def test_the_list_is_sorted_and_has_no_name_twice() -> None:
    assert sorted(set(attend.__all__)) == sorted(attend.__all__)


def test_importing_attend_brings_neither_server_nor_client_along() -> None:
    code = "import sys, attend; print([m for m in ('litestar', 'mcp', 'arq', 'uvicorn', 'rich') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_error_codes_are_all_documented() -> None:
    from attend.api.codes import LineCode, RequestCode

    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    of_lines, of_requests = text.partition("## Of a stream")[0].split("## Of a request")
    assert [str(code) for code in LineCode] == [
        line.split("`")[1]
        for line in of_lines.splitlines()
        if line.startswith("| `") and "`error`" not in line
    ]
    rows = [
        line.split("|")[1:3] for line in of_requests.splitlines() if line.startswith("| ") and "`" in line
    ]
    listed = [code.strip(" `") for _, code in rows if code.strip(" `") != "error"]
    assert sorted(set(listed)) == sorted(RequestCode)
    for status, code in rows[1:]:
        doc = (ROOT / "api" / "codes.py").read_text(encoding="utf-8") if (ROOT / "api").is_dir() else ""
        if doc:
            name = RequestCode(code.strip(" `")).name
            assert f"    {name} = " in doc.split("class RequestCode")[1]
            assert (
                f'"""{status.strip()}: ' in doc.split("class RequestCode")[1].split(f"    {name} = ")[1][:200]
            )
