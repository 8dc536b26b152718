"""`POST /v1/ingest`: a body of lines in, what became of each out, once all that was taken has committed."""

from __future__ import annotations

import logging

from msgspec import Struct

from attend.api.answer import GoneError, Receive, Refused, Scope, Send, answer, only, refuse
from attend.api.auth import Principal, Right, access_of
from attend.api.body import Flight, read_body
from attend.api.codes import LineCode, RequestCode
from attend.api.intake import RETRY_MS, Conflict, Intake
from attend.api.ndjson import Rejection
from attend.api.rate import Rates
from attend.api.settings import ApiSettings
from attend.errors import StoreUnavailableError

logger = logging.getLogger(__name__)


class _Answer(Struct, omit_defaults=True):
    accepted: int
    duplicates: int
    rejected: list[Rejection]
    conflicts: list[Conflict] = []


class Ingest:
    """The route: takes bodies in, within the limits of what is in hand at once and of each principal's rate."""

    def __init__(self, intake: Intake, flight: Flight, rates: Rates, settings: ApiSettings) -> None:
        self._intake = intake
        self._flight = flight
        self._rates = rates
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The route, as an ASGI app."""
        try:
            only(scope, "POST")
            access = access_of(scope)
            access.require(Right.INGEST)
            with self._flight.board() as ticket:
                body = await read_body(
                    scope,
                    receive,
                    ticket,
                    max_body=self._settings.max_body,
                    deadline_ms=self._settings.body_deadline_ms,
                )
                access.require(Right.INGEST)  # It may have been withdrawn since.
                reply = await self._take(body, access.principal)
            access.note(
                "ingest",
                accepted=reply.accepted,
                duplicates=reply.duplicates,
                rejected=len(reply.rejected),
            )
            await answer(send, 200, reply)
        except GoneError:
            return
        except Refused as refused:
            await refuse(send, refused)
        except StoreUnavailableError as error:
            await refuse(send, _unavailable(str(error)))
        except Exception:
            # A fault of ours says nothing about what committed, which is what 503 means to a sender.
            logger.exception("a body could not be taken in")
            await refuse(send, _unavailable("attend failed; its log says how"))

    async def _take(self, body: bytes | bytearray, principal: Principal) -> _Answer:
        """Take a body in. Raises `StoreUnavailableError`, or `Refused` when each line met a full outbox."""
        wait_ms = self._rates.wait_ms(principal)
        if wait_ms:
            raise Refused(
                429,
                RequestCode.RATE_LIMITED,
                "this principal sends faster than it may",
                retry_after_ms=wait_ms,
            )
        self._rates.spend(principal, body.count(b"\n") + (not body.endswith(b"\n")))
        reply = await self._intake.take(body, principal)
        full = sum(rejection.error == LineCode.OUTBOX_FULL for rejection in reply.rejected)
        if full and not reply.accepted and not reply.duplicates and full == len(reply.rejected):
            raise Refused(429, RequestCode.OUTBOX_FULL, reply.rejected[0].message, retry_after_ms=RETRY_MS)
        return _Answer(reply.accepted, reply.duplicates, reply.rejected, reply.conflicts)


def _unavailable(why: str) -> Refused:
    return Refused(
        503,
        RequestCode.UNAVAILABLE,
        f"nothing is said to be taken: {why}; send all of it again, what did commit comes back as duplicates",
        retry_after_ms=RETRY_MS,
    )
