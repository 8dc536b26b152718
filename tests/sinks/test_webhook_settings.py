"""What may be said of a webhook on the command line, and what is never shown of it."""

from __future__ import annotations

import pytest

from attend.configured import references
from attend.errors import ConfigError
from attend.settings import Settings
from attend.sinks.webhook import Webhook, webhook

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_a_url_is_a_webhook_and_makes_an_outbox() -> None:
    settings = Settings.read(
        {"sink": ["https://agent.example/inbox?key=k3y"]}, {"ATTEND_SINK_SECRET": SECRET}
    )
    assert settings.rules.sink
    assert isinstance(references(settings, {})["sink"], Webhook)
    assert Settings.from_env(settings.to_env()) == settings


def test_neither_the_secret_nor_the_query_is_shown() -> None:
    settings = Settings.read({"sink": ["https://agent.example/inbox?key=k3y"], "sink_secret": [SECRET]}, {})
    sink = references(settings, {})["sink"]
    for shown in (repr(settings), repr(sink)):
        assert "k3y" not in shown
        assert SECRET not in shown


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"sink": "ftp://agent.example/"}, "neither `log` nor"),
        ({"sink": "https:///path"}, "whole URL"),
        ({"sink": "http://agent.example/"}, "in the clear"),
        ({"sink": "https://me:pw@agent.example/"}, "a name or a password"),
        ({"sink": "https://agent.example:x/"}, "not a URL that can be read"),
        ({"sink": "nothing"}, "neither `log` nor"),
        ({"sink": "https://agent.example/", "sink_secret": "hunter2"}, "whsec_ and the base64"),
        ({"sink": "https://agent.example/", "sink_secret": "whsec_aHVudGVyMg=="}, "24 to 64"),
        ({"sink": "log", "sink_secret": SECRET}, "it signs a webhook"),
        ({"sink_secret": SECRET}, "it signs a webhook"),
    ],
)
def test_what_cannot_be_used_is_said_without_repeating_a_secret(flags: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.read({name: [text] for name, text in flags.items()}, {})
    [problem] = caught.value.problems
    assert words in problem
    assert problem.startswith("--sink")
    for kept in ("pw", "hunter2", "aHVudGVyMg", SECRET):
        assert kept not in problem


def test_the_library_says_all_that_is_wrong_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        webhook("http://agent.example/", "nonsense")
    assert len(caught.value.problems) == 2
    with pytest.raises(ConfigError, match="its secret is empty"):
        webhook("https://agent.example/", " ")
