"""What a worker and its child process say to each other: msgpack, each message after its length."""

from __future__ import annotations

import struct

import msgspec
from msgspec import Struct

from attend.core.types import Decision, Judgment
from attend.judges.base import JudgeInput

READY = b"+"
"""What the child writes once it has found the judge or the sink."""

LENGTH = struct.Struct(">I")


class AskJudge(Struct, frozen=True, tag="judge"):
    """Judge this."""

    input: JudgeInput


class AskSink(Struct, frozen=True, tag="sink"):
    """Deliver this."""

    decision: Decision


class Answered(Struct, frozen=True, tag="answered"):
    """The call returned, with a judgment where a judge was asked."""

    judgment: Judgment | None = None


class Raised(Struct, frozen=True, tag="raised"):
    """The call raised. `down` says that the judge cannot be asked at all."""

    message: str
    permanent: bool
    retry_after_ms: int = 0
    down: bool = False


_encoder = msgspec.msgpack.Encoder()
_asks = msgspec.msgpack.Decoder(AskJudge | AskSink)
_answers = msgspec.msgpack.Decoder(Answered | Raised)


def framed(message: AskJudge | AskSink | Answered | Raised) -> bytes:
    """A message as it is sent."""
    data = _encoder.encode(message)
    return LENGTH.pack(len(data)) + data


def read_ask(data: bytes) -> AskJudge | AskSink:
    """What a child is asked."""
    return _asks.decode(data)


def read_answer(data: bytes) -> Answered | Raised:
    """What a child answered."""
    return _answers.decode(data)
