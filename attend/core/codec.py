"""States, inputs, rules and windows as bytes (msgpack), and back.

Stores treat these bytes as opaque. Fields may be added at a struct's end with a default; anything else needs a
new `FORMAT`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from attend.core.account import Account, Arrival
from attend.core.input import Input
from attend.core.memory import Memory
from attend.core.news import News
from attend.core.rules import Rules
from attend.core.state import FORMAT, ScopeState
from attend.core.types import Summary, Window
from attend.errors import StateFormatError


class Entry(Struct, frozen=True, gc=False, array_like=True):
    """A tail entry: one input and the instant it was applied at."""

    now: int
    input: Input


class _Format(Struct):
    format: int = FORMAT


class _Kept(Window, frozen=True):
    account: Account | None = None


class _Beside(Struct):
    account: Account | None = None


def _write(value: object) -> object:
    if isinstance(value, Memory):
        return value.all()
    raise NotImplementedError(f"{type(value).__name__} is not written")


def _read(type: type, value: Any) -> object:
    if type is Memory:
        return Memory(msgspec.convert(value, dict[str, int]))
    raise NotImplementedError(f"{type.__name__} is not read")


_encoder = msgspec.msgpack.Encoder(enc_hook=_write)
_states = msgspec.msgpack.Decoder(ScopeState, dec_hook=_read)
_formats = msgspec.msgpack.Decoder(_Format)
_entries = msgspec.msgpack.Decoder(tuple[Entry, ...])
_rules = msgspec.msgpack.Decoder(Rules)
_summaries = msgspec.msgpack.Decoder(Summary)
_windows = msgspec.msgpack.Decoder(Window)
_accounts = msgspec.msgpack.Decoder(_Beside)
_news = msgspec.msgpack.Decoder(News)
_arrivals = msgspec.msgpack.Decoder(Arrival)

encode = _encoder.encode
"""Any of core's structs as msgpack."""


def decode_state(data: bytes) -> ScopeState:
    """A snapshot. Raises `StateFormatError` for one that a newer attend wrote, or that cannot be read."""
    try:
        written = _formats.decode(data).format
        if written > FORMAT:
            raise StateFormatError(f"the state has format {written}, this attend reads up to {FORMAT}")
        return _states.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"the state cannot be read: {error}") from error


def decode_entries(data: bytes) -> tuple[Entry, ...]:
    """What one commit added to the tail. Raises `StateFormatError` where it cannot be read."""
    try:
        return _entries.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"a tail entry cannot be read: {error}") from error


def decode_rules(data: bytes) -> Rules:
    """Rules as they were registered. Raises `StateFormatError` where they cannot be read."""
    try:
        return _rules.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"the rules cannot be read: {error}") from error


def decode_summary(data: bytes) -> Summary:
    """A row of the log. Raises `StateFormatError` where it cannot be read."""
    try:
        return _summaries.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"a decision cannot be read: {error}") from error


def encode_window(window: Window, account: Account) -> bytes:
    """A window with the account of its decision beside it; `decode_window` passes that by."""
    fields: dict[str, Any] = {name: getattr(window, name) for name in Window.__struct_fields__}
    return encode(_Kept(**fields, account=account))


def decode_account(data: bytes) -> Account | None:
    """The account kept with a stored window. None where there is none: a dead letter's, or written before there was."""
    try:
        return _accounts.decode(data).account
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"an account cannot be read: {error}") from error


def decode_news(data: bytes) -> News:
    """A piece of news. Raises `StateFormatError` where it cannot be read."""
    try:
        return _news.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"a piece of news cannot be read: {error}") from error


def decode_arrival(data: bytes) -> Arrival | None:
    """How a decision arrived. None where nothing was kept about that."""
    if not data:
        return None
    try:
        return _arrivals.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"an arrival cannot be read: {error}") from error


def decode_window(data: bytes) -> Window:
    """A stored window. Raises `StateFormatError` where it cannot be read."""
    try:
        return _windows.decode(data)
    except msgspec.MsgspecError as error:
        raise StateFormatError(f"a window cannot be read: {error}") from error
