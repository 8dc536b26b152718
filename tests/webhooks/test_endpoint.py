"""Where a post may go, and what is told of one that did not get through."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from attend.core.subscription import Failure
from attend.webhooks.endpoint import EndpointError, Poster, check_url, is_public
from tests.webhooks.receiver import Receiver

URLS = [
    ("https://x.example/hook?a=1", True),
    ("https://x.example:8443/", True),
    ("https://[2606:4700::1]/", True),
    ("http://x.example/", False),
    ("http://127.0.0.1/", False),
    ("ftp://x.example/", False),
    ("https:///path", False),
    ("https://user@x.example/", False),
    ("https://user:pass@x.example/", False),
    ("https://x.example/#part", False),
    ("https://x.example:0/", False),
    ("https://x.example:99999/", False),
    ("https://x.exa mple/", False),
    ("https://x.example\\@y.example/", False),
    ("https://xn\u00e9.example/", False),
    ("https://x.example/\n", False),
    ("//x.example/", False),
    ("", False),
    ("https://x.example/" + "a" * 2048, False),
]

ADDRESSES = [
    ("1.1.1.1", True),
    ("2606:4700::1", True),
    ("127.0.0.1", False),
    ("127.8.8.8", False),
    ("0.0.0.0", False),
    ("10.0.0.1", False),
    ("172.16.0.1", False),
    ("192.168.1.1", False),
    ("169.254.169.254", False),
    ("100.64.0.1", False),
    ("192.0.0.1", False),
    ("192.0.2.1", False),
    ("198.18.0.1", False),
    ("224.0.0.1", False),
    ("239.1.1.1", False),
    ("240.0.0.1", False),
    ("255.255.255.255", False),
    ("::", False),
    ("::1", False),
    ("fe80::1", False),
    ("fe80::1%eth0", False),
    ("fc00::1", False),
    ("fd00:ec2::254", False),
    ("fec0::1", False),
    ("ff02::1", False),
    ("2001:db8::1", False),
    ("::ffff:127.0.0.1", False),
    ("::ffff:10.0.0.1", False),
    ("::ffff:1.1.1.1", True),
    ("64:ff9b::7f00:1", False),
    ("64:ff9b::a9fe:a9fe", False),
    ("64:ff9b::101:101", True),
    ("2002:7f00:1::", False),
    ("2002:a00:1::1", False),
    ("::127.0.0.1", False),
    ("nonsense", False),
]


@pytest.mark.parametrize(("url", "good"), URLS)
def test_only_whole_https_addresses_are_endpoints(url: str, good: bool) -> None:
    if good:
        check_url(url, local=False)
    else:
        with pytest.raises(ValueError, match=r"delivery\.url"):
            check_url(url, local=False)


def test_plain_http_to_this_machine_is_for_tests() -> None:
    check_url("http://127.0.0.1:1/", local=True)
    for url in ("http://x.example/", "http://10.0.0.1/", "http://a@127.0.0.1/"):
        with pytest.raises(ValueError, match=r"delivery\.url"):
            check_url(url, local=True)


@pytest.mark.parametrize(("address", "good"), ADDRESSES)
def test_only_public_addresses_are_posted_to(address: str, good: bool) -> None:
    assert is_public(address) is good


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every name lead to these addresses."""

    def found(host: str, port: int, **more: Any) -> list[Any]:
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "addresses", [("10.0.0.1",), ("127.0.0.1",), ("1.1.1.1", "10.0.0.1"), ("1.1.1.1", "::1"), ()]
)
async def test_a_name_is_refused_where_any_of_its_addresses_is_not_public(
    addresses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, *addresses)
    with pytest.raises(EndpointError) as caught:
        await Poster(2000).post("https://x.example/", {}, b"{}")
    assert caught.value.failure is Failure.REFUSED


@pytest.mark.anyio
async def test_a_name_that_leads_here_later_on_is_refused_then(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    poster = Poster(2000, local=True)
    url = f"http://localhost:{receiver.server.server_port}/hook"
    resolving(monkeypatch, "127.0.0.1")
    assert (await poster.post(url, {}, b"{}")).taken
    assert receiver.posts[0].headers["host"] == f"localhost:{receiver.server.server_port}"
    resolving(monkeypatch, "169.254.169.254")
    with pytest.raises(EndpointError):
        await poster.post(url, {}, b"{}")
    assert len(receiver.posts) == 1
    await poster.close()


@pytest.mark.anyio
async def test_what_may_be_told_of_a_failure_is_its_kind(new_receiver: Callable[..., Receiver]) -> None:
    receiver = new_receiver(lambda post: 302)  # pyright: ignore[reportUnknownLambdaType]
    elsewhere = new_receiver()
    receiver.headers["location"] = elsewhere.url
    poster = Poster(500, local=True)
    answer = await poster.post(receiver.url, {}, b"{}")
    assert (answer.status, answer.failure, elsewhere.posts) == (302, Failure.HTTP_4XX, [])
    https = receiver.url.replace("http://127.0.0.1", "https://localhost")
    with pytest.raises(EndpointError) as tls:
        await poster.post(https, {}, b"{}")
    assert tls.value.failure is Failure.TLS
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(EndpointError) as refused:
            await poster.post(url, {}, b"{}")
        assert refused.value.failure is Failure.REFUSED
        silent.listen()
        with pytest.raises(EndpointError) as timeout:
            await poster.post(url, {}, b"{}")
        assert timeout.value.failure is Failure.TIMEOUT
    await poster.close()


@pytest.mark.anyio
async def test_what_one_endpoint_sets_is_told_no_other_of_the_same_address(
    new_receiver: Callable[..., Receiver],
) -> None:
    other, receiver = new_receiver(), new_receiver()
    other.headers["set-cookie"] = "theirs=" + "x" * 1000
    poster = Poster(2000, local=True)
    for url in (other.url, other.url, receiver.url):
        assert (await poster.post(url, {}, b"{}")).taken
    assert [post.headers.get("cookie") for post in (*other.posts, *receiver.posts)] == [None] * 3
    await poster.close()
