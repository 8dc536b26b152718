"""Posts over TLS: to the address that was looked up, under the name that was given, and to nobody else."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from attend.core.subscription import Failure
from attend.webhooks.endpoint import EndpointError, Poster
from tests.webhooks.receiver import Receiver

pytestmark = pytest.mark.anyio


class Secure:
    """A receiver over TLS, with a certificate for hook.example."""

    def __init__(self, receiver: Receiver, context: ssl.SSLContext) -> None:
        self.receiver = receiver
        self.names: list[str | None] = []

        def named(connection: Any, name: str | None, context: Any) -> None:
            self.names.append(name)

        context.sni_callback = named
        receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)

    def url(self, host: str) -> str:
        """Where it is, under a name."""
        return f"https://{host}:{self.receiver.server.server_port}/hook"


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> Secure:
    """One, whose certificate is trusted here; every name leads to this machine."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hook"),
            *("-addext", "subjectAltName=DNS:hook.example", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    def found(host: str, port: int, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return Secure(receiver, context)


async def test_the_name_given_is_the_one_that_is_asked_for_and_checked(secure: Secure) -> None:
    poster = Poster(5000, local=True)
    try:
        assert (await poster.post(secure.url("hook.example"), {}, b"{}")).taken
        assert secure.names == ["hook.example"]
        [post] = secure.receiver.posts
        assert post.headers["host"] == f"hook.example:{secure.receiver.server.server_port}"
        with pytest.raises(EndpointError) as other:
            await poster.post(secure.url("other.example"), {}, b"{}")
        assert other.value.failure is Failure.TLS
        assert len(secure.receiver.posts) == 1
    finally:
        await poster.close()


async def test_a_certificate_that_nobody_vouches_for_is_not_taken(
    secure: Secure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    poster = Poster(5000, local=True)
    with pytest.raises(EndpointError) as caught:
        await poster.post(secure.url("hook.example"), {}, b"{}")
    assert caught.value.failure is Failure.TLS
    assert secure.receiver.posts == []
    await poster.close()
