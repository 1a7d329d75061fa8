"""Which fee coefficients are in force for an instrument at an instant: the published dates, and
rows of one's own on top (rule P13).

A row of one's own names what it is for and gives what it changes; each coefficient comes from the
row that is narrowest about the instrument, among those the one that began last, else from the
published schedule. No endpoint of the exchange tells any of this; a market shows its taker
coefficient alone.
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
    """Fee coefficients in ten-thousandths. `maker` is what a maker is paid back; below zero, what
    it pays.

    `tail` is what combos add for takers: tail x contracts x p x (1 - p)^4. `cap` is the most that
    one order pays as a taker; without `cumulative` its fills are rounded each for itself (rule
    P12).
    """

    taker: int
    maker: int
    tail: int = 0
    cap: Cash | None = None
    cumulative: bool = True


SCHEDULE: dict[str, Dated[Theta]] = {
    "standard": Dated(
        Theta(taker=500, maker=0),
        ("2026-07-01", Theta(taker=600, maker=125)),
        ("2026-09-25", Theta(taker=695, maker=125)),
    ),
    "combo": Dated(
        Theta(taker=500, maker=0),
        ("2026-07-01", Theta(taker=600, maker=125)),
        ("2026-09-25", Theta(taker=695, maker=125, tail=400)),
    ),
    "table_tennis": Dated(
        Theta(taker=500, maker=0),
        ("2026-07-01", Theta(taker=600, maker=125)),
        ("2026-09-25", Theta(taker=695, maker=125)),
        ("2026-09-30T23:59:00-04:00", Theta(taker=1000, maker=125)),
    ),
}


class FeeRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of one's own: from an instant on, for instruments of a product, market type and class
    (any where empty), what is not None changes.
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
        """Whether it is about an instrument."""
        return (
            self.product in ("", instrument.product_id)
            and self.market_type in ("", instrument.market_type)
            and self.fee_class in ("", instrument.fee_class)
        )

    @property
    def narrowness(self) -> int:
        """How many things it asks of an instrument."""
        return bool(self.product) + bool(self.market_type) + bool(self.fee_class)


class FeeSchedule:
    """Coefficients by instrument and instant."""

    __slots__ = ("_changes", "_known", "rows")

    def __init__(self, rows: Iterable[FeeRow] = ()) -> None:
        self.rows = list(rows)
        self._known: dict[tuple[str, str, str], Dated[Theta]] = {}
        starts = {start for table in SCHEDULE.values() for start in table.starts} | {
            row.start for row in self.rows if row.start
        }
        self._changes = Dated(
            0, *((start, number) for number, start in enumerate(sorted(starts), 1))
        )

    def of(self, instrument: Instrument) -> Dated[Theta]:
        """Every coefficient an instrument ever has; a class without published dates of its own is
        standard.
        """
        key = instrument.product_id, instrument.market_type, instrument.fee_class
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compiled(instrument)
        return found

    def era(self, now: Instant) -> int:
        """A number that is another one whenever any coefficient may be."""
        return self._changes.at(now)

    def _compiled(self, instrument: Instrument) -> Dated[Theta]:
        published = SCHEDULE.get(instrument.fee_class) or SCHEDULE["standard"]
        rows = [row for row in self.rows if row.matches(instrument)]
        if not rows:
            return published
        # stable: of two rows alike the later one counts
        rows.sort(key=lambda row: (row.narrowness, row.start))
        starts = sorted({*published.starts, *(row.start for row in rows if row.start)})
        return Dated(
            _over(published.at(0), rows, 0),
            *((start, _over(published.at(start), rows, start)) for start in starts),
        )


def _over(theta: Theta, rows: list[FeeRow], now: Instant) -> Theta:
    """Published coefficients with what rows change of them at an instant, the last word being the
    last row's.
    """
    changes = {
        name: value
        for row in rows
        if row.start <= now
        for name in ("taker", "maker", "tail", "cap", "cumulative")
        if (value := getattr(row, name)) is not None
    }
    return replace(theta, **changes) if changes else theta
