"""The hosted judges by the names that a deployment's settings have for them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from attend.errors import ConfigError
from attend.judges.chat import chat_endpoint
from attend.judges.decisions import DECISIONS_URL, Decisions, decisions_judge
from attend.judges.jev import JEV_URL, Jev, jev_judge
from attend.judges.llm import Llm, llm_judge
from attend.judges.wire import check_url

HOSTED = ("jev", "decisions", "llm")
CHAT_URL = "https://api.openai.com/v1/chat/completions"


def hosted_judge(
    name: str,
    environ: Mapping[str, str],
    *,
    model: str | None = None,
    url: str | None = None,
    criteria: Mapping[str, str] | None = None,
    context_tokens: int | None = None,
) -> Jev | Decisions | Llm:
    """The judge `jev`, `decisions` or `llm`; `url` is the whole address to ask.

    The key is `ATTEND_JUDGE_KEY`; where that is not set, TypeSafe's own address has `TYPESAFE_API_KEY` and OpenAI's
    `OPENAI_API_KEY`, which go nowhere else. An address on this machine needs none. Close it with `aclose` when it is
    done with. Raises `ConfigError`.
    """
    given = environ.get("ATTEND_JUDGE_KEY") or None
    if name == "jev":
        url = url or JEV_URL
        key = _key(name, url, given, environ, ("api.typesafe.ai",), "TYPESAFE_API_KEY")
        return jev_judge(
            key, endpoint=url, model=model or "jev-latest", criteria=criteria, context_tokens=context_tokens
        )
    openai = ("api.openai.com", "eu.api.openai.com")
    if name == "decisions":
        url = url or DECISIONS_URL
        key = _key(name, url, given, environ, openai, "OPENAI_API_KEY")
        return decisions_judge(
            key, _needed(name, model), endpoint=url, criteria=criteria, context_tokens=context_tokens
        )
    if name == "llm":
        url = url or CHAT_URL
        key = _key(name, url, given, environ, openai, "OPENAI_API_KEY")
        asked = _needed(name, model)
        complete = chat_endpoint(url, asked, api_key=key)
        return llm_judge(complete, name=f"llm:{asked}", criteria=criteria, context_tokens=context_tokens)
    raise ConfigError(f"{name!r} is no hosted judge; they are {', '.join(HOSTED)}")


def _needed(name: str, model: str | None) -> str:
    if not model or not model.strip():
        raise ConfigError(f"the judge {name} needs a model: give --judge-model (ATTEND_JUDGE_MODEL)")
    return model


def _key(
    name: str, url: str, given: str | None, environ: Mapping[str, str], hosts: tuple[str, ...], variable: str
) -> str | None:
    loopback = check_url(name, url)
    parts = urlsplit(url)
    own = parts.scheme == "https" and parts.hostname in hosts
    key = given or (environ.get(variable) or None if own else None)
    if key is None and not loopback:
        hint = f"set {variable}, or ATTEND_JUDGE_KEY" if own else f"set ATTEND_JUDGE_KEY for {parts.hostname}"
        raise ConfigError(f"the judge {name} has no key: {hint}")
    return key
