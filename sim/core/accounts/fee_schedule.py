"""Which fee coefficients apply to an instrument at an instant (rule P13).

The published schedule changes by date and class of instrument. The `fees` of a scenario add rows
that override some coefficients for some instruments. For each coefficient the most specific
matching row wins; ties go to the row that began last, then to the last in the file. No endpoint of
the exchange shows the schedule; a market shows only its taker coefficient.
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
    | `maker` | what a maker receives; a negative value is a charge |
    | `tail` | surcharge on takers of combos: tail x contracts x p x (1 - p)^4 |
    | `cap` | the most that one order pays as a taker |
    | `cumulative` | whether rounding covers all fills of an order together (rule P12) |
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
    """A row of a scenario's fees. From `start` on, it overrides every coefficient that is not None.

    It applies to instruments with a given product, market type and fee class; an empty
    text matches any.
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
        """Return whether the row applies to an instrument."""
        return (
            self.product in ("", instrument.product_id)
            and self.market_type in ("", instrument.market_type)
            and self.fee_class in ("", instrument.fee_class)
        )

    @property
    def specificity(self) -> int:
        """The number of properties of an instrument that the row names."""
        return bool(self.product) + bool(self.market_type) + bool(self.fee_class)


class FeeSchedule:
    """Fee coefficients by instrument and instant."""

    def __init__(self, rows: Iterable[FeeRow] = ()) -> None:
        self.rows = list(rows)
        self._compiled: dict[tuple[str, str, str], Dated[Theta]] = {}
        starts = {start for table in SCHEDULE.values() for start in table.starts}
        starts |= {row.start for row in self.rows if row.start}
        eras = ((start, number) for number, start in enumerate(sorted(starts), 1))
        self._changes = Dated(0, *eras)

    def of(self, instrument: Instrument) -> Dated[Theta]:
        """Return the coefficients of an instrument by date.

        An unknown fee class counts as "standard".
        """
        key = instrument.product_id, instrument.market_type, instrument.fee_class
        table = self._compiled.get(key)
        if table is None:
            table = self._compiled[key] = self._compile(instrument)
        return table

    def era(self, now: Instant) -> int:
        """Return a number that changes whenever any coefficient may have changed."""
        return self._changes.at(now)

    def _compile(self, instrument: Instrument) -> Dated[Theta]:
        published = SCHEDULE.get(instrument.fee_class) or SCHEDULE["standard"]
        rows = [row for row in self.rows if row.matches(instrument)]
        if not rows:
            return published
        # The sort is stable: of two equally ranked rows, the later one in the file wins.
        rows.sort(key=lambda row: (row.specificity, row.start))
        starts = sorted({*published.starts, *(row.start for row in rows if row.start)})
        overridden = [(start, _override(published.at(start), rows, start)) for start in starts]
        return Dated(_override(published.at(0), rows, 0), *overridden)


def _override(theta: Theta, rows: list[FeeRow], now: Instant) -> Theta:
    """Return published coefficients with the overrides of rows at an instant; the last row wins."""
    changes = {
        name: value
        for row in rows
        if row.start <= now
        for name in ("taker", "maker", "tail", "cap", "cumulative")
        if (value := getattr(row, name)) is not None
    }
    return replace(theta, **changes) if changes else theta
