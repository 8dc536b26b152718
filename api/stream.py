"""`POST /v1/ingest/stream`: one request kept open, whose lines are acknowledged as they commit."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from attend.api.answer import GoneError, Receive, Refused, Scope, Send, only, refuse
from attend.api.auth import Access, Right, access_of
from attend.api.body import Chunks, Flight, drain, headers_of, unsupported
from attend.api.codes import RequestCode, StreamCode
from attend.api.inbound import EndedError, Inbound, unavailable
from attend.api.intake import RETRY_MS, Intake
from attend.api.outbound import Ack, Credits, End, Out
from attend.api.rate import Rates
from attend.api.settings import MIB, ApiSettings
from attend.api.stopping import Stopping
from attend.errors import StoreUnavailableError

logger = logging.getLogger(__name__)

_LINGER_MS = 3000
_LINGER_BYTES = 64 * MIB
"""What is read on, and thrown away, once the stream had to end."""


class Stream:
    """The route. Open streams count against what may be in flight by the bytes they hold, not as requests."""

    def __init__(
        self, intake: Intake, flight: Flight, rates: Rates, settings: ApiSettings, stopping: Stopping
    ) -> None:
        self._intake = intake
        self._flight = flight
        self._rates = rates
        self._settings = settings
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The route, as an ASGI app."""
        try:
            only(scope, "POST")
            access = access_of(scope)
            access.require(Right.INGEST)
            if headers_of(scope, b"content-encoding")[b"content-encoding"].strip().lower() not in (
                b"",
                b"identity",
            ):
                raise unsupported("identity")
            if self._stopping():
                raise Refused(503, RequestCode.UNAVAILABLE, "it is shutting down", retry_after_ms=RETRY_MS)
        except Refused as refused:
            await refuse(send, refused)
            return
        with self._flight.alongside() as ticket:
            out = Out(send, self._settings.stream_idle_ms)
            chunks = Chunks(receive)
            inbound = Inbound(chunks, ticket, self._settings)
            talk = _Talk(self._intake, self._rates, access, inbound, out, self._settings.heartbeat_ms)
            access.note("stream_lines")
            try:
                await self._run(talk, inbound, out, chunks, access)
            except GoneError:
                pass
            finally:
                access.note("stream_lines_end", lines=talk.acked)

    async def _run(self, talk: _Talk, inbound: Inbound, out: Out, chunks: Chunks, access: Access) -> None:
        reading = asyncio.create_task(inbound.read(), name="attend ingest stream")
        watching = asyncio.create_task(self._watch(talk, inbound, reading))
        lost = asyncio.create_task(_until_lost(access, inbound, reading))
        try:
            await asyncio.sleep(0)  # Reading begins first: that is what answers `Expect: 100-continue`.
            await out.start(self._settings.stream_credits)
            try:
                await talk.until_the_end()
            except EndedError as ended:
                await out.frame(
                    End(
                        error=ended.code,
                        message=str(ended),
                        retry_after_ms=ended.retry_after_ms,
                        ack=talk.acked,
                    )
                )
                await _stop(reading)
                stopped = self._stopping()
                await drain(
                    chunks, _LINGER_BYTES, self._settings.shutdown_grace_ms // 4 if stopped else _LINGER_MS
                )
            await out.finish()
        finally:
            await _stop(watching)
            await _stop(lost)
            await _stop(reading)

    async def _watch(self, talk: _Talk, inbound: Inbound, reading: asyncio.Task[None]) -> None:
        """Let it end in good order when the server stops: no more is read, what was read is committed."""
        await self._stopping.begun()
        talk.hurry(self._settings.shutdown_grace_ms / 2000)
        inbound.end(
            EndedError(
                StreamCode.SHUTTING_DOWN,
                "this process is shutting down; connect again, and go on after the last line acknowledged",
                retry_after_ms=0,
            )
        )
        reading.cancel()


class _Talk:
    """Commits what came, group after group, and says so. `acked` is the last line that it said it of."""

    def __init__(
        self,
        intake: Intake,
        rates: Rates,
        access: Access,
        inbound: Inbound,
        out: Out,
        heartbeat_ms: int,
    ) -> None:
        self._intake = intake
        self._rates = rates
        self._access = access
        self._principal = access.principal
        self._inbound = inbound
        self._out = out
        self._heartbeat = heartbeat_ms / 1000
        self._taking: asyncio.Timeout | None = None
        self._until: float | None = None
        self.acked = 0

    def hurry(self, seconds: float) -> None:
        """Take no longer than this for what is in hand."""
        self._until = asyncio.get_running_loop().time() + seconds
        self._out.until = self._until
        if self._taking is not None:
            self._taking.reschedule(self._until)

    async def until_the_end(self) -> None:
        """Go on until all that came is acknowledged. Raises `EndedError`, and `GoneError` where nobody listens."""
        inbound = self._inbound
        while inbound.lines or not inbound.ended:
            wait = self._rates.wait_ms(self._principal) / 1000 if inbound.lines else self._heartbeat
            if wait and inbound.lines and inbound.why is not None:
                break  # It has to end now, and may not take more now.
            if wait:
                await self._wait(min(wait, self._heartbeat))
            else:
                await self._take()
        if inbound.why is not None:
            raise inbound.why

    async def _wait(self, seconds: float) -> None:
        inbound = self._inbound
        inbound.news.clear()
        try:
            async with asyncio.timeout(seconds):
                await inbound.news.wait()
        except TimeoutError:
            if self._out.silence >= self._heartbeat:
                await self._out.frame(Credits(0))

    async def _take(self) -> None:
        if not self._access.holds(Right.INGEST):
            raise _forbidden()
        lines, count = self._inbound.take()
        self._rates.spend(self._principal, count)
        try:
            async with asyncio.timeout_at(self._until) as self._taking:
                reply = await self._intake.take(lines, self._principal, first=self.acked + 1)
        except StoreUnavailableError as error:
            raise unavailable(str(error)) from error
        except TimeoutError:
            raise self._inbound.why or unavailable("it took too long") from None
        except Exception as error:
            logger.exception("lines of a stream could not be taken in")
            raise unavailable("attend failed; its log says how") from error
        finally:
            self._taking = None
        self.acked += count
        self._inbound.settled()
        await self._out.frame(
            Ack(
                self.acked,
                reply.accepted,
                reply.duplicates,
                reply.rejected,
                reply.conflicts or msgspec.UNSET,
                count,
            )
        )


async def _until_lost(access: Access, inbound: Inbound, reading: asyncio.Task[None]) -> None:
    """End it when the right to send is withdrawn: nothing more is taken, not even of what was read."""
    await access.lost(Right.INGEST)
    inbound.end(_forbidden())
    reading.cancel()


def _forbidden() -> EndedError:
    return EndedError(
        StreamCode.FORBIDDEN,
        "this token no longer has the right to ingest; what was not acknowledged was not taken",
    )


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
