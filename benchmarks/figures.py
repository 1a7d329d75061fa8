"""A figure beside its floor, and the table that shows them."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """One measurement. `ours` and `floor` are rounds of the same unit; `goal` is the ratio to reach; `lower` says that less is better."""

    work: str
    unit: str
    ours: list[float]
    floor: list[float]
    floor_name: str
    goal: str = ""
    note: str = ""

    @property
    def ratio(self) -> float:
        """Median of the ratios of each round, so that a slow moment of the machine weighs on both sides."""
        return median(a / b for a, b in zip(self.ours, self.floor, strict=True)) if self.floor else 0.0

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {**self._asdict(), "ratio": self.ratio}


def table(figures: list[Figure]) -> str:
    """The figures as aligned text."""
    rows = [("work", "figure", "floor", "ratio", "goal", "")]
    for figure in figures:
        rows.append(
            (
                figure.work,
                f"{_short(median(figure.ours))} {figure.unit}",
                f"{_short(median(figure.floor))} {figure.floor_name}" if figure.floor else "",
                f"{figure.ratio:.2f}" if figure.floor else "",
                figure.goal,
                figure.note,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
