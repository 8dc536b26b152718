"""The little SVG that pictures are drawn in."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

INK, FAINT, PAPER = "#1f2328", "#d0d7de", "#ffffff"


def svg(width: int, height: int, parts: Sequence[str]) -> str:
    """A whole picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui, sans-serif" fill="{INK}">\n'
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, *, size: int, anchor: str = "start", weight: str = "400") -> str:
    """Words at a place."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{clean(words)}</text>"
    )


def clean(words: str) -> str:
    """Text as XML takes it: what it cannot hold is left out."""
    kept = "".join(c for c in words if c in "\n\t" or (ord(c) >= 32 and not 0xFFFE <= ord(c) <= 0xFFFF))
    return escape(kept)
