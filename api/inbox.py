"""What has come of a stream and is not taken in yet, cut where lines end."""

from __future__ import annotations


class Inbox:
    """Whole lines, and the beginning of one. Of a line that is too long it keeps enough to tell that it is."""

    def __init__(self, max_line: int) -> None:
        self._most = max_line + 4  # One too many, and a byte order mark.
        self._whole = bytearray()
        self._rest = bytearray()
        self.lines = 0
        """How many whole lines there are."""

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self._whole) + len(self._rest)

    @property
    def is_within_line(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._rest)

    def feed(self, chunk: bytes) -> None:
        """Add what came."""
        end = chunk.find(b"\n") + 1
        if end:
            # The first line end ends the line begun before: all others are whole within this chunk, or begin in it.
            last = chunk.rfind(b"\n") + 1
            self._whole += self._rest
            self._whole += memoryview(chunk)[:last]
            self.lines += chunk.count(b"\n")
            self._rest = bytearray()
            chunk = chunk[last:]
        self._rest += memoryview(chunk)[: self._most - len(self._rest)]

    def finish(self) -> None:
        """The stream ended as it should: what it ended with is a line."""
        if self._rest:
            self._whole += self._rest
            self._rest = bytearray()
            self.lines += 1

    def take(self) -> tuple[bytearray, int]:
        """All whole lines, and how many they are; they are gone from here."""
        taken, count = self._whole, self.lines
        self._whole, self.lines = bytearray(), 0
        return taken, count
