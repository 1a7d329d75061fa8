"""Which fee coefficients are in force for an instrument at an instant (rule P13).

The published schedule changes by date and class of instrument. A scenario's `fees` add rows that
override some coefficients for some instruments. For each coefficient the most specific matching row
wins; ties go to the row that began last, then to the last in the file. No endpoint of the exchange
shows the schedule; a market shows only its taker coefficient.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Cash
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant

THETA_SCALE = 10_000


class Theta(Struct, frozen=True):
    """Fee coefficients in ten-thousandths.

    | Field | Meaning |
    |---|---|
    | `taker` | what a taker pays |
    | `maker` | what a maker receives; below zero, what it pays |
    | `tail` | what combos add for takers: tail x contracts x p x (1 - p)^4 |
    | `cap` | the most that one order pays as a taker |
    | `cumulative` | round over the fills of an order (rule P12), not each fill by itself |
    """

    taker: int
    maker: int
    tail: int = 0
    cap: Cash | None = None
    cumulative: bool = True


_FIRST, _JULY = Theta(500, 0), ("2026-07-01", Theta(600, 125))


def _published(name: str, title: str, *later: tuple[str, Theta]) -> Dated[Theta]:
    title = f"thetas of {title}, in ten-thousandths"
    return Dated(_FIRST, _JULY, *later, name=f"fees.{name}", section="rule P13", title=title)


SCHEDULE: dict[str, Dated[Theta]] = {
    "standard": _published("standard", "single markets", ("2026-09-25", Theta(695, 125))),
    "combo": _published("combo", "combos", ("2026-09-25", Theta(695, 125, tail=400))),
    "table_tennis": _published(
        "table_tennis",
        "table tennis",
        ("2026-09-25", Theta(695, 125)),
        ("2026-09-30T23:59:00-04:00", Theta(1000, 125)),
    ),
}


class FeeRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of a scenario: overrides what is not None, from an instant on.

    It applies to instruments of a product, market type and fee class; empty means any.
    """

    start: Instant = 0
    product: str = ""
    market_type: str = ""
    fee_class: str = ""
    taker: int | None = None
    maker: int | None = None
    tail: int | None = None
    cap: Cash | None = None
    cumulative: bool | None = None

    def matches(self, instrument: Instrument) -> bool:
        """Whether the row applies to an instrument."""
        return (
            self.product in ("", instrument.product_id)
            and self.market_type in ("", instrument.market_type)
            and self.fee_class in ("", instrument.fee_class)
        )

    @property
    def specificity(self) -> int:
        """How many properties of an instrument the row names."""
        return bool(self.product) + bool(self.market_type) + bool(self.fee_class)


class FeeSchedule:
    """Coefficients by instrument and instant."""

    def __init__(self, rows: Iterable[FeeRow] = ()) -> None:
        self.rows = list(rows)
        self._compiled: dict[tuple[str, str, str], Dated[Theta]] = {}
        starts = {start for table in SCHEDULE.values() for start in table.starts}
        starts |= {row.start for row in self.rows if row.start}
        eras = ((start, number) for number, start in enumerate(sorted(starts), 1))
        self._changes = Dated(0, *eras)

    def of(self, instrument: Instrument) -> Dated[Theta]:
        """The coefficients of an instrument by date; an unknown class is "standard"."""
        key = instrument.product_id, instrument.market_type, instrument.fee_class
        table = self._compiled.get(key)
        if table is None:
            table = self._compiled[key] = self._compile(instrument)
        return table

    def era(self, now: Instant) -> int:
        """A number that changes whenever any coefficient may have changed."""
        return self._changes.at(now)

    def _compile(self, instrument: Instrument) -> Dated[Theta]:
        published = SCHEDULE.get(instrument.fee_class) or SCHEDULE["standard"]
        rows = [row for row in self.rows if row.matches(instrument)]
        if not rows:
            return published
        # stable, so of two rows alike the later one wins
        rows.sort(key=lambda row: (row.specificity, row.start))
        starts = sorted({*published.starts, *(row.start for row in rows if row.start)})
        overridden = [(start, _override(published.at(start), rows, start)) for start in starts]
        return Dated(_override(published.at(0), rows, 0), *overridden)


def _override(theta: Theta, rows: list[FeeRow], now: Instant) -> Theta:
    """Published coefficients with the overrides of rows at an instant; the last row wins."""
    changes = {
        name: value
        for row in rows
        if row.start <= now
        for name in ("taker", "maker", "tail", "cap", "cumulative")
        if (value := getattr(row, name)) is not None
    }
    return replace(theta, **changes) if changes else theta
