"""A fault of tokens that users of such systems reported, against a real serve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import to_thread

from tests.api.test_auth import ask
from tests.cli.test_serve import attend
from tests.rig.service import Service
from tests.servers import bundled_binary

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

TOKEN = "s3cret-" + "x" * 20
PATHS = [
    ("POST", "/v1/ingest"),
    ("POST", "/v1/ingest/stream"),
    ("GET", "/v1/scopes/s"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/nothing"),
]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Service]:
    """A serve with a token."""
    bundled_binary()
    flags = ("--store", "memory", "--port", "0", "--token", TOKEN)
    service = Service("serve", *flags, log=tmp_path / "log")
    yield service.wait_ready()
    service.kill()


async def test_no_authorization_breaks_it_and_the_token_is_in_no_log(guarded: Service) -> None:
    """Any character outside of ASCII in a token made it fail: a 500 and a traceback, for anyone."""
    bad = [
        (),
        (b"",),
        (b"Bearer",),
        (b"Bearer ",),
        (b"Bearer caf\xe9",),
        (b"Bearer caf\xc3\xa9",),
        (b"Bearer \x80\xff",),
        (b"Basic " + TOKEN.encode(),),
        (TOKEN.encode(),),
        (b"Bearer " + TOKEN.encode() + b"2",),
        (b"Bearer " + TOKEN.encode()[:-1],),
        (b"Bearer " + TOKEN.encode(), b"Bearer " + TOKEN.encode()),
        (b"Bearer " + TOKEN.encode(), b"Bearer wrong"),
        (b"Bearer " + b"y" * 65_536,),
    ]
    for method, path in PATHS:
        for values in bad:
            headers = [(b"authorization", value) for value in values]
            status, answered = await ask(guarded.url, method, path, *headers)
            assert status == 401, (method, path, values[:1])
            assert answered["www-authenticate"].startswith("Bearer")
        for scheme in (b"Bearer", b"bearer", b"BEARER"):
            good = (b"authorization", scheme + b" " + TOKEN.encode())
            status, _ = await ask(guarded.url, method, path, good)
            assert status not in (401, 403), (method, path, scheme)
            assert status < 500
    assert (await ask(guarded.url, "GET", "/healthz"))[0] == 200
    assert await to_thread.run_sync(guarded.stop) == 0
    written = guarded.log.read_text() + "".join(guarded.lines)
    assert TOKEN not in written
    assert "y" * 100 not in written
    assert "Traceback" not in written


@pytest.mark.parametrize("token", ["caf\u00e9", "\u8a9e", "two words", "line\nbreak"])
def test_a_token_that_no_header_could_carry_is_refused_at_start(token: str) -> None:
    for ran in (attend("serve", "--token", token), attend("serve", ATTEND_TOKEN=token)):
        assert ran.returncode == 2
        assert "printable ASCII" in ran.stderr
        assert token not in ran.stderr
