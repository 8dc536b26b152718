"""Text that strangers wrote, made fit to stand in a message to a model.

What comes out holds nothing that could end the quotes or the tag that it stands in, start a line of its own, or
turn the order of what is shown around it; and two different texts never come out the same.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

MOST = 96
"""How many characters come out at most."""

_CLEAN = re.compile(r"[A-Za-z0-9._:/@#+-]+(?: [A-Za-z0-9._:/@#+-]+)*")
_MARKS = frozenset("._:/@#+-")
_HASH = 20


def plain(text: str, most: int = MOST) -> str:
    """The text itself where it is short, ASCII, and nothing but letters, digits, single blanks and `. _ : / @ # + -`.

    Any other keeps what of it is harmless, cut to the length, and gets `~` with a hash of all of it at its end. `~`
    is in no text that is unchanged, so a marked one is never taken for another; the hash has 80 bits.
    """
    if len(text) <= most and _CLEAN.fullmatch(text):
        return text
    mark = "~" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    room = most - len(mark) - 1
    kept: list[str] = []
    for character in text[: 4 * most]:
        if _is_harmless(character):
            kept.append(character)
        elif kept and kept[-1] != " ":
            kept.append(" ")
    rest = "".join(kept)[:room].strip()
    return f"{rest} {mark}" if rest else mark


def is_plain(text: str) -> bool:
    """Whether a text holds nothing but characters that plain text may; the mark's is not among them."""
    return all(character == " " or _is_harmless(character) for character in text)


def _is_harmless(character: str) -> bool:
    """Letters and digits that are written from left to right and stand alone, and the marks above."""
    if character.isascii():
        return character.isalnum() or character in _MARKS
    # Letters of other directions would turn what stands beside them, and combining ones would cover it.
    return (
        unicodedata.category(character) in ("Lu", "Ll", "Lo", "Lt", "Nd")
        and unicodedata.bidirectional(character) in ("L", "EN")
        and unicodedata.east_asian_width(character) != "F"
        and unicodedata.normalize("NFKC", character) == character
    )
