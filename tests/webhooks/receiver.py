"""A receiver of webhooks on a port of its own: it says challenges back, checks what is signed, remembers what came."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER_SECRET = "whsec_" + base64.b64encode(bytes(range(32, 64))).decode()


class Post:
    """One request that came."""

    def __init__(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.path = path
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.raw = body
        self.body: dict[str, Any] = json.loads(body)
        self.at = time.time()

    @property
    def event(self) -> str | None:
        """The id of the event it carries, None for a control message."""
        return self.body.get("eventId")

    def signed_by(self, secret: str) -> bool:
        """Whether a secret signed exactly this, by the specification's words and no code of attend."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = b".".join(
            (self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.raw)
        )
        wanted = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        fresh = abs(self.at - int(self.headers["webhook-timestamp"])) < 300
        return fresh and wanted in self.headers["webhook-signature"].split(" ")


class Receiver:
    """`answer` gives the status of a post that is no challenge; `echo` says whether challenges are said back."""

    def __init__(self, answer: Callable[[Post], int] | None = None, *, port: int = 0) -> None:
        self.posts: list[Post] = []
        self.answer = answer or always(200)
        self.headers: dict[str, str] = {}
        self.echo = True
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                post = Post(
                    self.path, dict(self.headers), self.rfile.read(int(self.headers["content-length"]))
                )
                receiver.posts.append(post)
                body = b""
                if post.body.get("type") == "verification":
                    status = 200
                    said = post.body["challenge"] if receiver.echo else "another"
                    body = json.dumps({"challenge": said}).encode()
                else:
                    status = receiver.answer(post)
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    @property
    def events(self) -> list[str]:
        """The ids of the events that came, each time they came."""
        return [post.event for post in self.posts if post.event is not None]

    def of(self, type: str) -> list[Post]:
        """The control messages of a type."""
        return [post for post in self.posts if post.body.get("type") == type]

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(10)


def always(status: int) -> Callable[[Post], int]:
    """Answer everything alike."""

    def answer(post: Post) -> int:
        return status

    return answer


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition; fails after a generous time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        await anyio.sleep(0.02)
