"""The names that `attend` offers: each is there, and says what it is."""

from __future__ import annotations

import inspect
import subprocess
import sys

import attend


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
