"""Instrument terms: scales, ticks, dates and reference facts. Immutable; what changes (state, book,
settlement) lives in other components.

Scales and ticks are read per instrument and never inferred (§2.6); two instruments of one product
may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from sim.core.lifecycle.outcomes import Settles
from sim.core.model.collateral import Related
from sim.core.model.dormant import NOTHING, DormantInstruments, Recurring
from sim.core.model.enums import InstrumentState
from sim.core.model.index_measures import Measure
from sim.core.model.quantities import (
    CASH_SCALE,
    Notional,
    Price,
    Qty,
    decimal_text,
    is_decimal_scale,
)
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.kernel.instants import DAY, Instant, Span


class Segment(Struct, frozen=True):
    """One weekly stretch of a trading schedule (rule L3), in Eastern Time. `days`: Monday 0 …
    Sunday 6; `start`: nanoseconds after midnight.
    """

    days: tuple[int, ...]
    start: Span
    length: Span
    state: InstrumentState = InstrumentState.OPEN
    hide_market_data: bool = False
    expire_all_orders: bool = False


ALWAYS_OPEN = (Segment(days=(0, 1, 2, 3, 4, 5, 6), start=0, length=DAY),)


class Instrument(Struct, frozen=True, kw_only=True):
    """Terms of one two-sided YES/NO contract paying one dollar.

    `tick`, `price_low`, `price_high` are prices (divide by `price_scale`); `min_qty` is a quantity
    (divide by `qty_scale`). `event` groups the instruments of one event, `related` those whose
    outcomes hang together; `fee_class` selects a row of the fee schedule; `opening_state` is the
    state at the scenario's start, None to derive it from the dates and the schedule. `closes` is
    when trading ends for good, whatever the schedule says, 0 for not before the expiration;
    `settles` and `measures` are what the outcome follows from: a game's facts, an index.
    """

    symbol: str
    description: str = ""
    product_id: str = ""
    price_scale: int = 100
    qty_scale: int = 1
    tick: Price = 1
    min_qty: Qty = 1
    price_low: Price = 1
    price_high: Price = 99
    size_low: Qty | None = None
    size_high: Qty | None = None
    notional_low: Notional | None = None
    notional_high: Notional | None = None
    created: Instant = 0
    start: Instant = 0
    closes: Instant = 0
    expiration: Instant = 0
    termination: Instant = 0
    schedule: tuple[Segment, ...] = ALWAYS_OPEN
    opening_state: InstrumentState | None = None
    event: str = ""
    fee_class: str = "standard"
    market_type: str = ""
    category: str = ""
    subcategory: str = ""
    series: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    settles: Settles | None = None
    measures: Measure | None = None
    related: Related | None = None

    @property
    def notional_scale(self) -> int:
        """Notional units in one dollar (§2.6)."""
        return self.price_scale * self.qty_scale

    @property
    def cash_per_notional(self) -> int:
        """Cash units in one notional unit; exact by construction."""
        return CASH_SCALE // (self.price_scale * self.qty_scale)

    def problems(self) -> list[str]:
        """What is wrong with these terms, in words; empty when they are sound."""
        found = []
        if not is_decimal_scale(self.price_scale * self.qty_scale):
            found.append(
                f"price_scale times fractional_qty_scale must divide {CASH_SCALE},"
                f" {self.price_scale} x {self.qty_scale} does not"
            )
        if self.tick <= 0 or not 0 < self.tick < self.price_scale:
            found.append("tick_size must lie between 0 and 1 dollar")
        elif self.price_scale % self.tick:
            found.append(
                f"one dollar is no multiple of the tick {decimal_text(self.tick, self.price_scale)}"
            )
        if not 0 <= self.price_low < self.price_high <= self.price_scale:
            found.append("price limits must satisfy 0 <= low < high <= 1 dollar")
        if self.min_qty <= 0:
            found.append("minimum_trade_qty must be positive")
        # 0 never comes
        dates = [
            date for date in (self.start, self.closes, self.expiration, self.termination) if date
        ]
        if dates != sorted(dates):
            found.append(
                f"dates must satisfy start <= {'closes <= ' if self.closes else ''}expiration <="
                " termination"
            )
        return found


class Instruments:
    """All instruments by symbol, in order of listing. Nothing is ever removed while time goes
    forward: history refers to it.

    Those listed one by one come first in every look-up; the shelf has the rest of the world's
    beginning and makes them when asked, and windows come and go with the clock: they are in lists
    until they are terminated, and found by symbol for ever.
    """

    __slots__ = ("_base", "_by_symbol", "recurring", "shelf")

    def __init__(
        self, instruments: tuple[Instrument, ...] = (), shelf: DormantInstruments = NOTHING
    ) -> None:
        self._by_symbol = {instrument.symbol: instrument for instrument in instruments}
        self._base = len(self._by_symbol)
        self.shelf = shelf
        self.recurring: Recurring = NOTHING

    def __iter__(self) -> Iterator[Instrument]:
        return (self.require(symbol) for symbol in self.symbols())

    def __len__(self) -> int:
        windows = sum(1 for _ in self.recurring.symbols())
        return (
            len(self._by_symbol)
            + len(self.shelf)
            + windows
            - sum(self.shelf.find(symbol) is not None for symbol in self._by_symbol)
        )

    def __contains__(self, symbol: str) -> bool:
        return self.get(symbol) is not None

    def symbols(self) -> Iterator[str]:
        """Every symbol, in order of listing, without making instruments."""
        known = self._by_symbol
        yield from islice(known, self._base)
        yield from (symbol for symbol in self.shelf.symbols() if symbol not in known)
        yield from self.recurring.symbols()
        yield from islice(known, self._base, None)

    def before_shelf(self) -> Iterator[Instrument]:
        """Those that were listed one by one when the world began."""
        return islice(self._by_symbol.values(), self._base)

    def after_shelf(self) -> Iterator[Instrument]:
        """Windows that lists show, then those listed since."""
        yield from map(self.require, self.recurring.symbols())
        yield from islice(self._by_symbol.values(), self._base, None)

    def listed(self) -> Iterator[Instrument]:
        """Those that are not on the shelf, in order of listing."""
        return iter(self._by_symbol.values())

    def of_event(self, event: str) -> list[Instrument]:
        """The instruments of an event, in order of listing."""
        known = self._by_symbol
        found = [instrument for instrument in known.values() if instrument.event == event]
        return found + [
            instrument
            for shelf in (self.shelf, self.recurring)
            for instrument in shelf.of_event(event)
            if instrument.symbol not in known
        ]

    def get(self, symbol: str) -> Instrument | None:
        """The instrument, or None."""
        return self._by_symbol.get(symbol) or self.shelf.find(symbol) or self.recurring.find(symbol)

    def require(self, symbol: str) -> Instrument:
        """The instrument; NotFound when there is none, InvalidRequest when none is named."""
        found = (
            self._by_symbol.get(symbol) or self.shelf.find(symbol) or self.recurring.find(symbol)
        )
        if found is None:
            if not symbol:
                raise InvalidRequest("symbol is required", rule="M2")
            raise NotFound(f"unknown symbol: {symbol[:80]}", rule="M2")
        return found

    def add(self, instrument: Instrument) -> None:
        """List one more."""
        self._by_symbol[instrument.symbol] = instrument

    def settle_base(self, shelf: DormantInstruments = NOTHING) -> None:
        """Those listed so far and the shelf are the world as it begins; the ones after it are part
        of the state that is saved.
        """
        self._base = len(self._by_symbol)
        self.shelf = shelf

    def begin_as(self, other: Instruments) -> None:
        """Have the beginning of another's; terms never change, so they are shared."""
        self._by_symbol = dict(islice(other._by_symbol.items(), other._base))
        self._base = other._base
        self.shelf = other.shelf

    def added(self) -> list[Instrument]:
        """Those listed since the beginning, in order."""
        return list(islice(self._by_symbol.values(), self._base, None))

    def restore(self, added: list[Instrument]) -> None:
        """The beginning, plus these."""
        for symbol in list(islice(self._by_symbol, self._base, None)):
            del self._by_symbol[symbol]
        for instrument in added:
            self.add(instrument)
