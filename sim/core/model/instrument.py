"""Terms of one instrument: scales, tick, limits, dates, and the condition of its outcome.

Terms never change. Whatever changes (state, book, settlement) belongs to other components, and the
collection of all instruments is in `instruments.py`. Scales and ticks are read from the instrument
and never inferred (§2.6): two instruments of one product may differ.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct, field

from sim.core.model.collateral import Related
from sim.core.model.enums import InstrumentState
from sim.core.model.index_conditions import IndexCondition
from sim.core.model.quantities import (
    CASH_SCALE,
    Notional,
    Price,
    Qty,
    decimal_text,
    is_decimal_scale,
)
from sim.kernel.instants import DAY, Instant, Span, format_instant


class Segment(Struct, frozen=True):
    """One part of a weekly trading schedule (rule L3), in Eastern Time.

    `days` counts from Monday 0 to Sunday 6; `start` is nanoseconds after midnight.
    """

    days: tuple[int, ...]
    start: Span
    length: Span
    state: InstrumentState = InstrumentState.OPEN
    hide_market_data: bool = False
    expire_all_orders: bool = False


ALWAYS_OPEN = (Segment(days=(0, 1, 2, 3, 4, 5, 6), start=0, length=DAY),)


class GameCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Condition of a market on its game. `lifecycle/outcomes.py` has a rule for each `kind`.

    `long` is the side, home or away, on which the long position bets. `pick` is the exact result in
    question: a side, "none", "draw", or a score such as "2-0".
    """

    kind: str
    long: str = "home"
    line: str = ""
    player: str = ""
    pick: str = ""


class Instrument(Struct, frozen=True, kw_only=True):
    """Terms of one two-sided YES/NO contract that pays one dollar.

    `tick`, `price_low` and `price_high` are prices (divided by `price_scale`); `min_qty` is a
    quantity (divided by `qty_scale`). A date of 0 means never.

    | Field | Meaning |
    |---|---|
    | `question` | the question of its event; empty: the description |
    | `closes` | when trading ends for good, whatever the schedule says; 0: at `expiration` |
    | `opening_state` | state when the scenario starts; None: as dates and schedule demand |
    | `event` | groups the instruments of one event |
    | `related` | group whose outcomes depend on each other, for collateral return (rule P8) |
    | `fee_class` | selects a row of the fee schedule |
    | `game_condition`, `index_condition` | what decides the outcome: a game or an index |
    """

    symbol: str
    description: str = ""
    question: str = ""
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
    game_condition: GameCondition | None = None
    index_condition: IndexCondition | None = None
    related: Related | None = None

    @property
    def notional_scale(self) -> int:
        """Notional units in one dollar (§2.6)."""
        return self.price_scale * self.qty_scale

    @property
    def cash_per_notional(self) -> int:
        """Cash units in one notional unit; exact because `problems` refuses other scales."""
        return CASH_SCALE // (self.price_scale * self.qty_scale)

    def problems(self) -> list[str]:
        """Return the problems of these terms as text; none if they are valid."""
        sentences = []
        if not is_decimal_scale(self.price_scale * self.qty_scale):
            sentences.append(
                f"price_scale times fractional_qty_scale must divide {CASH_SCALE},"
                f" {self.price_scale} x {self.qty_scale} does not"
            )
        if self.tick <= 0 or not 0 < self.tick < self.price_scale:
            sentences.append("tick_size must be between 0 and 1 dollar")
        elif self.price_scale % self.tick:
            sentences.append(self._tick_problem())
        if not 0 <= self.price_low < self.price_high <= self.price_scale:
            sentences.append("price limits must satisfy 0 <= low < high <= 1 dollar")
        if self.min_qty <= 0:
            sentences.append("minimum_trade_qty must be positive")
        names = ("start", "closes", "expiration", "termination")
        dates = [(name, date) for name in names if (date := getattr(self, name))]
        for (before, first), (name, date) in pairwise(dates):
            if date < first:
                disorder = (
                    f"{name} {format_instant(date)} is before {before} {format_instant(first)}"
                )
                sentences.append(
                    f"{disorder}; an instrument must start, expire and terminate in this order"
                )
        return sentences

    def _tick_problem(self) -> str:
        """Describe a tick that does not divide a dollar, with the nearest ones that do."""
        ticks = [each for each in range(1, self.price_scale) if self.price_scale % each == 0]
        tick, lower, upper = (
            decimal_text(units, self.price_scale)
            for units in (
                self.tick,
                max(each for each in ticks if each < self.tick),
                min((each for each in ticks if each > self.tick), default=1),
            )
        )
        return f"the tick must divide one dollar: {tick} does not, {lower} and {upper} do"
