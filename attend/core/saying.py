"""News in one sentence, as it may be pushed to a model that did not ask.

It is made of ids, of codes from closed lists and of names made plain. Names stand in square brackets and ids in round
ones, which are in no plain text, so that nobody's words run on into the sentence.
"""

from __future__ import annotations

from attend.core.news import Alert, Change, News, NewsCode
from attend.core.plain import is_plain, plain

MOST = 600
"""How many characters a sentence has at most."""

_ALERTS = {
    Alert.APP_FAILING: ("App", "is failing", "is no longer failing"),
    Alert.AUTOMATION_FAILING: ("Automation", "is failing", "is no longer failing"),
    Alert.CONNECTION_DOWN: ("Connection", "is not connected", "is connected again"),
    Alert.CALL_STOPPED: ("A call of", "was stopped at the gate", "is no longer stopped"),
    Alert.ALLOWANCE: ("Allowance", "is nearly used up", "is no longer nearly used up"),
}
_FRAME = frozenset("[]().,~%")


def saying(news: News) -> str:
    """The sentence; it ends by naming the tool that reads more."""
    parts = [*_said(news), f"in scope [{plain(news.scope)}]."]
    return f"{' '.join(parts)} Use {news.tool} to read more."


def fits(text: str) -> bool:
    """Whether a text holds nothing but what a sentence may."""
    return len(text) <= MOST and all(
        character in _FRAME or is_plain(character) or character == " " for character in text
    )


def _said(news: News) -> list[str]:
    resolved = news.change is Change.RESOLVES
    match news.code:
        case NewsCode.RUN_FINISHED:
            return [_of("A run", news), "finished", *_about("run", news)]
        case NewsCode.RUN_FAILED:
            why = [f"with {news.detail}"] if news.detail else []
            return [_of("A run", news), "failed", *why, *_about("run", news)]
        case NewsCode.APPROVAL_NEEDED:
            asked = "is no longer waiting" if resolved else "was asked of you"
            return [_of("An approval", news), asked, *_about("approval", news)]
        case NewsCode.ALERT:
            what, opened, ended = _ALERTS[news.alert or Alert.APP_FAILING]
            named = [f"[{news.name}]"] if news.name else []
            share = [f"at {news.share}%"] if news.share is not None else []
            why = [f"with {news.detail}"] if news.detail else []
            return [what, *named, ended if resolved else opened, *share, *why, *_about("", news)]


def _of(what: str, news: News) -> str:
    return f"{what} of [{news.name}]" if news.name else what


def _about(what: str, news: News) -> list[str]:
    return [f"({f'{what} {news.subject}'.strip()})"] if news.subject else []
