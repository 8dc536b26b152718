"""How often an agent would act at each act threshold, drawn: as SVG, and in letters for a terminal."""

from __future__ import annotations

from attend.core.types import Route
from attend.replay.drawing import FAINT, svg, text
from attend.replay.picture import COLOURS
from attend.testing.threshold import Suggestion


def threshold_chart(suggestion: Suggestion, budget: float) -> str:
    """Acts an hour at each threshold as steps, with the budget as a line and the suggestion marked."""
    width, height, left, top, right, bottom = 720, 360, 70, 46, 24, 50
    candidates = suggestion.candidates
    most = max([budget, *(one.acts_per_hour for one in candidates)]) * 1.1 or 1.0

    def x(threshold: float) -> float:
        return round(left + threshold * (width - left - right), 1)

    def y(rate: float) -> float:
        return round(height - bottom - rate / most * (height - top - bottom), 1)

    parts = [text(left, 26, "acts an hour against the act threshold", size=15, weight="600")]
    for tenth in range(0, 11, 2):
        parts.append(text(x(tenth / 10), height - bottom + 18, f"{tenth / 10:g}", size=11, anchor="middle"))
    for quarter in range(5):
        rate = most * quarter / 4
        parts.append(
            f'<line x1="{left}" y1="{y(rate)}" x2="{width - right}" y2="{y(rate)}" stroke="{FAINT}"/>'
        )
        parts.append(text(left - 8, y(rate) + 4, f"{rate:.3g}", size=11, anchor="end"))
    path, from_ = "", 0.0
    for one in candidates:
        path += f"{'L' if path else 'M'}{x(from_)} {y(one.acts_per_hour)}L{x(one.threshold)} {y(one.acts_per_hour)}"
        from_ = one.threshold
    parts.append(f'<path d="{path}" fill="none" stroke="{COLOURS[Route.QUEUE]}" stroke-width="2"/>')
    parts.append(
        f'<line x1="{left}" y1="{y(budget)}" x2="{width - right}" y2="{y(budget)}" '
        f'stroke="{COLOURS[Route.INTERRUPT]}" stroke-dasharray="5 4"/>'
    )
    parts.append(text(width - right, y(budget) - 6, f"budget {budget:g}", size=11, anchor="end"))
    if suggestion.threshold is not None:
        at = next(one for one in candidates if one.threshold == suggestion.threshold)
        parts.append(f'<circle cx="{x(at.threshold)}" cy="{y(at.acts_per_hour)}" r="5" fill="#1a7f37"/>')
        words = f"{at.threshold:.3g}: {at.acts_per_hour:.3g} an hour"
        anchor = "end" if at.threshold > 0.6 else "start"
        parts.append(text(x(at.threshold), y(at.acts_per_hour) - 12, words, size=12, anchor=anchor))
    return svg(width, height, parts)


def terminal_chart(suggestion: Suggestion, budget: float, *, width: int = 60, steps: int = 20) -> list[str]:
    """A bar for each twentieth of the scale: acts an hour under that threshold, `|` where the budget ends."""
    most = max([budget, *(one.acts_per_hour for one in suggestion.candidates)]) or 1.0
    mark = min(width - 1, round(budget / most * (width - 1)))
    lines: list[str] = []
    for step in range(1, steps + 1):
        threshold = step / steps
        # Under a threshold acts what acts under the next candidate that is no smaller.
        found = next(
            (one for one in suggestion.candidates if one.threshold >= threshold - 1e-9),
            suggestion.candidates[-1],
        )
        bar = round(found.acts_per_hour / most * (width - 1))
        cells = ["█" if place < bar else " " for place in range(width)]
        cells[mark] = "|"
        lines.append(f"  {threshold:4.2f} {''.join(cells).rstrip()} {found.acts_per_hour:.3g}")
    return lines
