"""A figure beside its floor and its goal, and the table that shows them."""

from __future__ import annotations

from statistics import median
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """What to reach: a ratio to the floor, or, for an `absolute` one, a figure in its own unit.
    `lower` says that less is better.
    """

    bound: float
    lower: bool = False
    absolute: bool = False

    def __str__(self) -> str:
        return f"{'≤' if self.lower else '≥'} {short(self.bound)}"


class Figure(NamedTuple):
    """One measurement. `sandbox`, `floor` and `before` are rounds of the same unit; a figure
    without a floor stands for itself. `before` is an earlier commit's, if one was measured.
    """

    work: str
    unit: str
    sandbox: list[float]
    floor: list[float]
    floor_name: str
    goal: Goal | None = None
    note: str = ""
    before: list[float] = []

    @property
    def ratio(self) -> float:
        """Median of the ratios of each round, so that a slow moment of the machine weighs on both
        sides.
        """
        return (
            median(a / b for a, b in zip(self.sandbox, self.floor, strict=True))
            if self.floor
            else 0.0
        )

    @property
    def verdict(self) -> str:
        """ "reached" or "missed"; empty without a goal."""
        if self.goal is None:
            return ""
        value = median(self.sandbox) if self.goal.absolute else self.ratio
        bound = self.goal.bound
        reached = value <= bound if self.goal.lower else value >= bound
        return "reached" if reached else "missed"

    def plain(self) -> dict[str, Any]:
        """As JSON: what was measured, and the row of the table."""
        rounds = {"ours": self.sandbox, "floor": self.floor, "before": self.before}
        return {
            **dict(zip(HEADINGS, self.cells(), strict=True)),
            "note": self.note,
            "rounds": {name: [*map(_rounded, values)] for name, values in rounds.items()},
        }

    def cells_before(self) -> tuple[str, ...]:
        """The earlier commit's figure, and the median ratio of ours to it."""
        if not self.before:
            return "", ""
        ratio = median(a / b for a, b in zip(self.sandbox, self.before, strict=False))
        return f"{short(median(self.before))} {self.unit}", short(ratio)

    def cells(self) -> tuple[str, ...]:
        """Row of the table."""
        goal = "" if self.goal is None else str(self.goal)
        if self.goal is not None and self.goal.absolute:
            goal += f" {self.unit}"
        return (
            self.work,
            f"{short(median(self.sandbox))} {self.unit}",
            f"{short(median(self.floor))} {self.floor_name}" if self.floor else self.floor_name,
            short(self.ratio) if self.floor else "",
            goal,
            self.verdict,
        )


HEADINGS = ("work", "figure", "floor", "ratio", "goal", "verdict")
HEADINGS_BEFORE = ("before", "of before")


def table(figures: list[Figure]) -> str:
    """The figures as aligned text, an earlier commit's beside them, notes behind."""
    rows = [(*HEADINGS, ""), *((*figure.cells(), figure.note) for figure in figures)]
    if any(figure.before for figure in figures):
        beside = [HEADINGS_BEFORE, *(figure.cells_before() for figure in figures)]
        rows = [(row[0], *pair, *row[1:]) for row, pair in zip(rows, beside, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def summary(figures: list[Figure]) -> str:
    """How many goals were reached."""
    judged = [figure for figure in figures if figure.goal is not None]
    return f"{sum(figure.verdict == 'reached' for figure in judged)} of {len(judged)} goals reached"


def short(value: float) -> str:
    """A number as people read it."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.3g}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
