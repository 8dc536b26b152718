"""Users of a running attend: some send bodies, most send single lines, some poll.

    attend serve &
    locust -f loadtest/locustfile.py --headless -u 100 -t 30s

Ends with a line that says `pass` or `fail` and why, and exits with 0 or 1. Nothing but 200, and 429 and 503 with
`Retry-After`, is right; what was refused is sent again. Afterwards every scope is flushed, and the log since the
start must hold each accepted event exactly once. That takes a judge that never answers `skip`, as `rule` never
does. `ATTEND_TOKEN` is sent along where it is set.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import time
from collections.abc import Sequence
from typing import Any

import requests
from locust import HttpUser, between, constant, events, task
from locust.env import Environment

from loadtest.account import Account
from loadtest.lines import line
from loadtest.stream import EVENT, headers, rpc

HOST = "http://127.0.0.1:8787"
BODY_LINES = 200
FLUSH_EVERY = 10
"""Every tenth body flushes a scope, so that there are decisions all the while."""

SCOPES = 500
SETTLE_SECONDS = 120

RUN = secrets.token_hex(4)
ACCOUNT = Account()
PENDING: dict[int, list[tuple[str, str]]] = {}
"""Bodies that no answer came to yet, by a number, as scopes and ids."""

_numbers = itertools.count()
_cursor: list[str] = []


def _authorization() -> dict[str, str]:
    token = os.environ.get("ATTEND_TOKEN")
    return {"authorization": f"Bearer {token}"} if token else {}


def _flush(scope: str, id: str) -> bytes:
    return json.dumps({"scope": scope, "flush": True, "id": f"{RUN}-{id}"}).encode()


def _body(sent: Sequence[tuple[str, str]]) -> bytes:
    return b"\n".join(line(scope, id) for scope, id in sent)


class Sender(HttpUser):
    """Sends events until they are taken."""

    abstract = True
    host: Any = HOST

    def send(self, count: int, name: str) -> None:
        """A body of new events; refused with `Retry-After` it is sent again after that time."""
        number = next(_numbers)
        sent = [(f"load/{RUN}/{(number * 7 + n) % SCOPES}", f"{RUN}-{number}-{n}") for n in range(count)]
        PENDING[number] = sent
        body = _body(sent)
        if number % FLUSH_EVERY == 0:
            body += b"\n" + _flush(sent[0][0], str(number))
        while not self._taken(body, sent, name):
            pass
        del PENDING[number]

    def _taken(self, body: bytes, sent: Sequence[tuple[str, str]], name: str) -> bool:
        answer: Any
        with self.client.post(
            "/v1/ingest", data=body, name=name, headers=_authorization(), catch_response=True
        ) as answer:
            if answer.status_code == 200:
                reply = answer.json()
                if reply["rejected"]:
                    answer.failure(f"lines were rejected: {reply['rejected'][:3]}")
                    return False
                ACCOUNT.accept(sent)
                return True
            wait = answer.headers.get("retry-after", "") if answer.headers else ""
            if answer.status_code in (429, 503) and wait.isdigit():
                answer.success()
            else:
                answer.failure(f"{answer.status_code}, Retry-After {wait!r}: {answer.text!r:.200}")
        time.sleep(float(wait) if wait.isdigit() else 1.0)
        return False


class BulkUser(Sender):
    """A producer that sends what it gathered."""

    weight = 10
    wait_time = between(0.5, 1.5)

    @task
    def bulk(self) -> None:
        """One body of many lines."""
        self.send(BODY_LINES, f"ingest {BODY_LINES} lines")


class SingleUser(Sender):
    """A producer that sends each event as it happens."""

    weight = 70
    wait_time = between(0.1, 0.5)

    @task
    def single(self) -> None:
        """One event."""
        self.send(1, "ingest 1 line")


class PollUser(HttpUser):
    """An agent that asks what is new, as often as it is told to."""

    weight = 20
    host: Any = HOST
    wait_time = constant(1)

    def on_start(self) -> None:
        """Begin where the log ends now."""
        self.reached: str | None = None

    @task
    def poll(self) -> None:
        """One page."""
        answer = self.client.post("/mcp", data=_poll(self.reached, 100), name="events/poll", headers=_mcp())
        if answer.status_code == 200:
            self.reached = answer.json()["result"]["cursor"]


def _mcp() -> dict[str, str]:
    return {**headers("events/poll"), **_authorization()}


def _poll(cursor: str | None, most: int) -> bytes:
    return rpc("events/poll", name=EVENT, arguments={}, cursor=cursor, maxEvents=most)


def _page(host: str, cursor: str | None) -> dict[str, Any]:
    answer = requests.post(f"{host}/mcp", data=_poll(cursor, 1000), headers=_mcp(), timeout=60)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()["result"]
    return found


def _post(host: str, body: bytes) -> dict[str, Any]:
    """Send a body until it is taken."""
    while True:
        answer = requests.post(f"{host}/v1/ingest", data=body, headers=_authorization(), timeout=60)
        if answer.status_code == 200:
            found: dict[str, Any] = answer.json()
            return found
        if answer.status_code not in (429, 503):
            answer.raise_for_status()
        time.sleep(float(answer.headers.get("retry-after", "1")))


def _begin(environment: Environment, **_: Any) -> None:
    _cursor[:] = [_page(environment.host or HOST, None)["cursor"]]


def _end(environment: Environment, **_: Any) -> None:
    stats = environment.stats.total
    problems = [f"{stats.num_failures} of {stats.num_requests} requests failed"] if stats.num_failures else []
    if not stats.num_requests:
        problems.append("nothing was sent")
    try:
        problems += _settle(environment.host or HOST)
    except requests.RequestException as error:
        problems.append(f"afterwards: {error}")
    for problem in problems[:20]:
        print(f"  {problem}")
    print(
        f"{'fail' if problems else 'pass'}: {stats.num_requests} requests, {ACCOUNT.accepted} events accepted, "
        + (f"{len(problems)} problems" if problems else "each accounted for")
    )
    environment.process_exit_code = 1 if problems else 0


def _settle(host: str) -> list[str]:
    """Send again what no answer came to, settle every scope, read the log; what does not add up."""
    for sent in PENDING.values():
        reply = _post(host, _body(sent))
        if not reply["rejected"]:
            ACCOUNT.accept(sent)
    if ACCOUNT.scopes:
        _post(host, b"\n".join(_flush(scope, "last") for scope in ACCOUNT.scopes))
    cursor, end = _cursor[0], time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < end:
        page = _page(host, cursor)
        if page["truncated"]:
            return ["the log was trimmed meanwhile: raise --retain, or run for a shorter time"]
        cursor = page["cursor"]
        for event in page["events"]:
            ACCOUNT.decide(event["data"])
        if not page["hasMore"]:
            if not ACCOUNT.problems():
                return []
            time.sleep(0.5)
    return ACCOUNT.problems()


_events: Any = events
_events.test_start.add_listener(_begin)
_events.quitting.add_listener(_end)
