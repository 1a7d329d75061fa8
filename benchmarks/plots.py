"""A plot of an area, as plain SVG.

For each figure with a floor, a dot is the ratio of one round, a bar their median, and a line the
goal.
"""

from __future__ import annotations

from html import escape
from math import log10

from benchmarks.figures import Figure, short

LEFT, WIDTH, ROW, TOP = 380, 420, 26, 30
INK, OURS, GOAL, GRID = "#333", "#2a6fb0", "#c0392b", "#ddd"


def plot(area: str, figures: list[Figure]) -> str:
    """The drawing; "" when no figure of the area has a floor."""
    rows = [figure for figure in figures if figure.floor]
    if not rows:
        return ""
    ratios = {
        index: [sandbox / floor for sandbox, floor in zip(row.sandbox, row.floor, strict=True)]
        for index, row in enumerate(rows)
    }
    values = [value for result in ratios.values() for value in result] + [
        row.goal.bound for row in rows if row.goal and not row.goal.absolute
    ]
    low, high = min(0.5, *values) / 1.2, max(1.0, *values) * 1.2

    def x(value: float) -> float:
        return LEFT + WIDTH * log10(value / low) / log10(high / low)

    height = TOP + ROW * len(rows) + 10
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 80} {height}"'
            f' font-family="sans-serif" font-size="12" fill="{INK}">'
        ),
        (
            '<rect width="100%" height="100%" fill="white"/><text x="10" y="18"'
            f' font-weight="bold">{escape(area)}: ratio to the floor, log scale</text>'
        ),
        (
            f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 4}" y2="{height - 6}"'
            f' stroke="{GRID}"/><text x="{x(1) + 3:.1f}" y="{TOP - 8}">1</text>'
        ),
    ]
    for index, row in enumerate(rows):
        y = TOP + ROW * index + ROW / 2
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(row.work)}</text>'
        )
        parts += [
            f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="3" fill="{OURS}" fill-opacity="0.45"/>'
            for value in ratios[index]
        ]
        parts.append(_upright(x(row.ratio), y, 7, OURS))
        if row.goal is not None and not row.goal.absolute:
            parts.append(_upright(x(row.goal.bound), y, 10, GOAL))
        parts.append(
            f'<text x="{LEFT + WIDTH + 10}" y="{y + 4:.1f}">{short(row.ratio)}'
            f" {escape(row.verdict)}</text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _upright(x: float, y: float, half: float, colour: str) -> str:
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - half:.1f}" y2="{y + half:.1f}" stroke="{colour}"'
        ' stroke-width="2.5"/>'
    )
