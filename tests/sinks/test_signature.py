"""Signatures as Standard Webhooks makes them."""

from __future__ import annotations

import base64

import pytest

from attend.signature import read_secrets, signed

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_a_known_body_has_the_known_signature() -> None:
    body = b'{"eventId":"evt_1","name":"clock-tick","timestamp":"2026-11-30T14:00:00Z","data":{"tick":1},"cursor":"1"}'
    found = signed(read_secrets(SECRET), "evt_1", 1796047200, body)
    assert found == "v1,+qC5NK0U1em/H5K/glOKC5jQlR6fRllppEzok2IzxWw="


def test_two_secrets_sign_both() -> None:
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    both = signed(read_secrets(f"{SECRET}  {other}"), "a", 1, b"{}")
    assert both.split(" ") == [
        signed(read_secrets(SECRET), "a", 1, b"{}"),
        signed(read_secrets(other), "a", 1, b"{}"),
    ]


@pytest.mark.parametrize("size", [0, 23, 65])
def test_a_key_has_24_to_64_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="24 to 64"):
        read_secrets("whsec_" + base64.b64encode(bytes(size)).decode())


@pytest.mark.parametrize("text", ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "whsec_!!!!", "whsec_é"])
def test_what_is_no_secret_is_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="a secret is whsec_") as caught:
        read_secrets(text)
    assert text.removeprefix("whsec_") not in str(caught.value)
