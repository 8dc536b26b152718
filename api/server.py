"""The HTTP server: one uvicorn server on one listening socket, started and closed as a library call."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket as sockets
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec
import uvicorn

from attend.api.app import build
from attend.api.settings import ApiSettings
from attend.api.stopping import Stopping
from attend.app import Attend
from attend.errors import AttendError, ConfigError

_HEADER_BYTES = 256 * 1024
_KEEP_ALIVE_SECONDS = 65
_BACKLOG = 2048


class Server:
    """HTTP and MCP of one app, from `serve` until `close`."""

    def __init__(
        self, app: Attend, settings: ApiSettings, *, host: str, port: int, socket: str | None, run: bool
    ) -> None:
        self._app = app
        self._grace_ms = settings.shutdown_grace_ms
        self._socket_path = socket
        application = build(app, settings)
        self._socket = _listen(host, port) if socket is None else _listen_unix(socket)
        self._host = host
        config = uvicorn.Config(
            application,
            lifespan="on",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=_HEADER_BYTES,
        )
        # What is left for uvicorn of the grace: the streams end first, and the app closes after.
        config.timeout_graceful_shutdown = max(0.1, settings.shutdown_grace_ms * 0.8 / 1000)  # type: ignore[assignment]
        self._uvicorn = _Uvicorn(config, application.state.stopping)
        self._run = run
        self._runner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(), name="attend server")

    async def ready(self) -> None:
        """Wait until requests are taken. Raises what kept the server from starting."""
        await asyncio.shield(self._ready)

    def url(self) -> str:
        """Where it listens: `http://host:port`, or `unix:<path>` for a socket."""
        if self._socket_path is not None:
            return f"unix:{self._socket_path}"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def ended(self) -> None:
        """Wait until it has ended, by `close` or by itself. Raises what ended it."""
        await asyncio.shield(self._task)

    async def close(self) -> None:
        """Stop: streams get their result, waits return, requests in hand end, within the grace. Idempotent.

        The app is left open, as it was handed in.
        """
        self._uvicorn.should_exit = True
        await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self) -> None:
        try:
            self._port: int = self._socket.getsockname()[1] if self._socket_path is None else 0
            await self._app.start()
            if self._run:
                self._runner = asyncio.create_task(self._app.run(), name="attend runner")
                self._runner.add_done_callback(self._runner_ended)
            self._uvicorn.on_started = self._started
            await self._uvicorn.serve([self._socket])
        except SystemExit:
            self._failed(AttendError("the API did not start; its log says why"))
        except BaseException as error:  # noqa: BLE001 - who waits for it must hear of it, then it goes on
            self._failed(error)
        finally:
            self._socket.close()
            if self._socket_path is not None:
                _remove(self._socket_path)
            await self._end_runner()
        if not self._ready.done():
            self._ready.set_exception(AttendError("the server was closed before it was ready"))
            self._ready.exception()

    def _started(self) -> None:
        if not self._ready.done():
            self._ready.set_result(None)

    def _failed(self, error: BaseException) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # It is raised below as well: nobody has to ask twice.
        raise error

    def _runner_ended(self, runner: asyncio.Task[None]) -> None:
        self._uvicorn.should_exit = True

    async def _end_runner(self) -> None:
        runner, self._runner = self._runner, None
        if runner is None:
            return
        runner.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await runner


class _Uvicorn(uvicorn.Server):
    """Ends what waits before it ends itself, and leaves signals to the program it is part of."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping) -> None:
        super().__init__(config)
        self._stopping = stopping
        self.on_started: Callable[[], None] = _nothing

    async def startup(self, sockets: list[sockets.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_started()

    async def shutdown(self, sockets: list[sockets.socket] | None = None) -> None:
        self._stopping.begin()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _nothing() -> None:
    """Until somebody wants to know."""


def serve(
    app: Attend,
    settings: ApiSettings | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8787,
    socket: str | None = None,
    run: bool = True,
) -> Server:
    """Serve an app over HTTP and MCP, in the running event loop.

    Port 0 picks a free one; `socket` is a path that takes the place of host and port, for the user alone. With
    `run` the app's own runner runs too: windows settle, are judged and delivered in this process. Raises
    `ConfigError` where the address cannot be listened on, or can be reached from other machines without a token.
    """
    settings = settings or ApiSettings()
    if socket is None:
        if settings.token is None and settings.principals is None and not _is_loopback(host):
            raise ConfigError(
                f"{host} can be reached from other machines: give a token or principals, or listen on 127.0.0.1"
            )
        settings = msgspec.structs.replace(settings, hosts=(*settings.hosts, *_names(host)))
    return Server(app, settings, host=host, port=port, socket=socket, run=run)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(host: str) -> tuple[str, ...]:
    """What a Host header calls this address; nothing where it stands for all addresses."""
    if host in ("0.0.0.0", "::"):
        return ()
    return (f"[{host}]" if ":" in host else host,)


def _listen(host: str, port: int) -> sockets.socket:
    try:
        [(family, _, _, _, address), *_] = sockets.getaddrinfo(
            host, port, type=sockets.SOCK_STREAM, flags=sockets.AI_PASSIVE
        )
        listener = sockets.create_server(address, family=family, backlog=_BACKLOG)
        # What it accepts has this too. asyncio sets it by itself, but not for sockets that are made this way, and
        # then the second half of each answer waits for the client's delayed acknowledgement of the first: 40 ms.
        listener.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; give another --port, or 0 for a free one"
        ) from error


def _listen_unix(path: str) -> sockets.socket:
    listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        _clear(path)
        # The file is the user's alone from the first moment on.
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        return listener
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {path}: {error.strerror or error}; give another --socket"
        ) from error


def _clear(path: str) -> None:
    """Remove a socket that a dead server left; one that answers, or is no socket, is left alone."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)
